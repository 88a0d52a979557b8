"""The tables that the authors of the paper published, read without running anything in them."""
