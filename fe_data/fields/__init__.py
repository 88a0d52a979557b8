"""Write the fields of a solved RVE to files for other programs."""
