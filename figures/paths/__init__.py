"""What a posterior about mean fields says of the stress on any path of strain, in notebook 08."""
