"""What notebooks import: for each notebook one module with all that it takes from figures."""
