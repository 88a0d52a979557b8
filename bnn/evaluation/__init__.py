"""Metrics and plots of predictions and of their uncertainty."""
