"""When each variant ran: the phases of the manifest, and seconds counted from its phase `run`."""

from __future__ import annotations

from analysis.run_files.run_directory import RUN_PHASE, Variant

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
"""Nanoseconds."""


def run_start(variant: Variant) -> int | None:
    """When publishers began; where the phase `run` was never reached, the end of what was."""
    run = variant.phase(RUN_PHASE)
    return run.start if run is not None else variant.end


def second_of(time: int | None, start: int | None) -> int | None:
    """Whole seconds from a start to a time, rounded down."""
    return None if time is None or start is None else (time - start) // SECOND
