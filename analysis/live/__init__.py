"""A run as it is seen while it goes on, or again afterwards: frames by the second, followed from the logs alone."""
