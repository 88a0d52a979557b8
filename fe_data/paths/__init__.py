"""Paths of strain, and sets of cells that follow them."""
