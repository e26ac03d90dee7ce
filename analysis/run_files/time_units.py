"""Seconds counted from the start of the phase `run`."""

from __future__ import annotations

from record.time_units import SECOND


def second_of(time: int | None, start: int | None) -> int | None:
    """Whole seconds from a start to a time, rounded down."""
    return None if time is None or start is None else (time - start) // SECOND


def second_due(intended: int | None, run_start: int | None) -> int | None:
    """The second of the phase `run` in which a publication was due.

    One that was due less than a second before counts to the first second, because the phase's start is read off a clock
    some milliseconds after publishers began by their own.
    """
    second = second_of(intended, run_start)
    return 0 if second == -1 else second
