"""What goes further than the paper: a package for each notebook in notebooks/beyond."""
