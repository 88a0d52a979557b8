"""Fields of a solved RVE as files for other programs."""
