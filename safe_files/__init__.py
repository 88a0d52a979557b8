"""Write files completely or not at all, lock folders, and other code that all packages share."""
