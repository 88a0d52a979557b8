"""The boundary value problem of one representative volume element, and its effective properties."""
