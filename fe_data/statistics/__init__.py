"""Statistics of tables: scatter over fibre arrangements, and comparison of two tables."""
