"""Research beyond the paper: a folder per study. No package imports it."""
