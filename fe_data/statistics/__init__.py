"""What tables say: scatter over fibre arrangements, and comparison with another table."""
