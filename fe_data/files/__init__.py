"""Files that users name or somebody sent: what is read of them, and how much."""
