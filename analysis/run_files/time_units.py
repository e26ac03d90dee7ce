"""Seconds counted from the start of the phase `run`."""

from __future__ import annotations

from record.time_units import SECOND


def second_of(time: int | None, start: int | None) -> int | None:
    """Whole seconds from a start to a time, rounded down."""
    return None if time is None or start is None else (time - start) // SECOND
