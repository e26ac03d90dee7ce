"""A run directory's contents, defined once for those who write them and those who read them."""
