"""Studies beyond the paper: a package for each notebook in notebooks/beyond."""
