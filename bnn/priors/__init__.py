"""Priors over functions: what they have in common, and those that are only sampled."""
