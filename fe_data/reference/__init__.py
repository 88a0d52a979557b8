"""The boundary value problem once more, in UFL: a second solver, to read and to check against."""
