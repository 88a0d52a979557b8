"""Scores and pictures of predictions, and the exact posteriors that they are held against."""
