"""Strain paths, and sets of RVEs that follow them."""
