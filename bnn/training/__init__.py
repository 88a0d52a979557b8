"""Training of all members of an ensemble at once, with Adam or Gauss-Newton."""
