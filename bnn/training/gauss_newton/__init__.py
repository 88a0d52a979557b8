"""Damped Gauss-Newton for many networks at once, in weight space and in function space."""
