"""The page of a run, and the tables of the READMEs."""
