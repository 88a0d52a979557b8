"""From datasets and packages to figures, metrics and the report."""
