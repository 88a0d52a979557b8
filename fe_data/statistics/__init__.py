"""Statistics of tables: scatter over microstructures, and comparison of two tables."""
