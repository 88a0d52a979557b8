"""Ensembles of networks: pre-trained to a prior, anchored in weights or functions, vanilla."""
