"""Timers of microsecond precision, for event loops."""
