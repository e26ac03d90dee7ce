"""YAML files of people: read within bounds, with the file, line and field of every error."""
