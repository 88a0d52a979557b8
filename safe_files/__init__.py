"""Files that are written completely or not at all, and locks: what `bnn` and `fe_data` share."""
