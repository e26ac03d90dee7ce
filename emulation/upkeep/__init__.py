"""The state of a host: what it can run, and the removal of what dead runs left."""
