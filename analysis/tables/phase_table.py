"""The table `phases`: one row for each phase of each variant."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.run_files.phases import SECOND
from analysis.tables.tables import PhaseTimes
from record.manifest import VariantRecord


def phase_table(variants: Iterable[VariantRecord]) -> list[PhaseTimes]:
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


def _offset(time: int, variant: VariantRecord) -> float:
    return (time - (variant.run_start or time)) / SECOND
