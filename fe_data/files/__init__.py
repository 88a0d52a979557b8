"""Read files of unknown origin safely, and write files without replacing other ones."""
