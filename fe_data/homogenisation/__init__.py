"""Effective properties by mean-field homogenisation, and the anisotropy of an RVE."""
