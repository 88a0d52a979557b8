"""What knowledge of mechanics and of the noise is worth on the composite, in notebook 06."""
