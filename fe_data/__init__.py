"""Representative volume elements of a fibre composite: from four inputs to five effective properties."""
