"""The broker core, without I/O: clients' sessions and operations, the execution of a router's actions, the broker."""
