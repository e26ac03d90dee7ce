"""The record of a run: the contents of a run directory, defined once for writers and readers."""
