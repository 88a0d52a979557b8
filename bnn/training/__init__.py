"""The batched training loop: all members of an ensemble at once, with Adam."""
