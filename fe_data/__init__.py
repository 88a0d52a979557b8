"""Representative volume elements of a fibre composite: four inputs, five effective properties."""
