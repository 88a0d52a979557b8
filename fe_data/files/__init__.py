"""Read files of unknown origin safely."""
