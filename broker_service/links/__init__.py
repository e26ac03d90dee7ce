"""Overlay links without I/O: output queues, what is in flight, and the link status table."""
