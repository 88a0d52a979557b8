"""The page of a run, and the tables of README and guide."""
