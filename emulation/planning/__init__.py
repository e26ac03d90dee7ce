"""Plans: everything that a run will do, derived from its scenario before the host is touched."""
