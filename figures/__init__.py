"""Figures, metrics and reports of the paper, made from the datasets with the other packages."""
