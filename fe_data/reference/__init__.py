"""The same boundary-value problem in UFL: a second solver that is short, to verify the first."""
