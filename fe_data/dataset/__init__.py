"""From a design to a table: inputs, simulated samples, records on disk, checks."""
