"""Strength of RVEs over volume fraction and interface, and a surrogate of mean and scatter."""
