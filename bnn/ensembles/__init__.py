"""Ensembles of networks: vanilla, or pre-trained to a prior and anchored to it."""
