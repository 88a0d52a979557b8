"""Read the tables that the authors of the paper published, without running code in them."""
