"""When each variant ran: the phases of the manifest, and seconds counted from its phase `run`."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.run_directory import RUN_PHASE, Variant
from analysis.tables import PhaseTimes

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


def phase_table(variants: Iterable[Variant]) -> list[PhaseTimes]:
    """The table `phases`."""
    return [
        PhaseTimes(
            variant=each.name,
            phase=phase.name,
            start_ns=phase.start,
            end_ns=phase.end,
            start_s=_offset(phase.start, each),
            end_s=_offset(phase.end, each),
        )
        for each in variants
        for phase in each.phases
    ]


def _offset(time: int, variant: Variant) -> float:
    return (time - (run_start(variant) or time)) / SECOND
