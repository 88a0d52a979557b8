"""The boundary-value problem of one RVE, and its effective properties."""
