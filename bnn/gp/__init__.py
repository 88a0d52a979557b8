"""Gaussian processes: kernels, conditioning, evidence, and the regressor."""
