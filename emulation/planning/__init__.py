"""From a scenario to a plan: everything that a run will do, decided before the host is touched."""
