"""Paths of strain, and sets of RVEs that follow them."""
