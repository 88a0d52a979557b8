"""Reading files of unknown origin: which are read, and how much of them."""
