"""What the notebooks 03 and 04 of the composite take from figures, one module each."""
