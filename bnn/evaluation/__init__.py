"""Metrics and plots of predictions and their uncertainty, prior checks and sensitivity analysis."""
