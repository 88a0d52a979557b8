"""Priors over functions: kernels, Gaussian processes, samplers, conditioning on data."""
