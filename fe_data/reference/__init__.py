"""The boundary-value problem of the fast solver in UFL: a short solver, which verifies that one."""
