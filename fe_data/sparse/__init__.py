"""A sparse Cholesky factorisation for matrices that change slowly."""
