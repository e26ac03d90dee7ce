"""Faults in a report: shaded intervals in a figure over time, and a table with the effects of each fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from analysis.report.figures.style import shade
from analysis.tables.timeline import Fault
from record.time_units import SECOND

SAME_SPAN_SECONDS = 2
"""Largest difference between the start of a fault in two variants at which the figure shades it only once."""
NAMES_SHOWN = 2

RunStarts = Mapping[str, int]
"""The start of each variant's run phase, by the run's clock."""


@dataclass(frozen=True)
class FaultRow:
    """One fault, formatted for the template. Times are in seconds, delays in milliseconds."""

    variant: str
    kind: str
    what: str
    when: str
    lasted: str
    detected: str
    reconnected: str
    recovered: str
    before: str
    during: str
    after: str
    late: str
    excused: int
    lost: int
    dropped: str


def shade_faults(figure: go.Figure, faults: Sequence[Fault], starts: RunStarts, end: float) -> None:
    """Shades each fault from its start until it was healed, or to `end` (seconds) where it never was."""
    shaded: list[tuple[Fault, float]] = []
    for fault in faults:
        began = _began(fault, starts)
        if began is None or any(_same(fault, began, *other) for other in shaded):
            continue
        shaded.append((fault, began))
        healed = end if fault.duration_s is None else began + fault.duration_s
        shade(figure, began, healed, f"{fault.kind} {_names(fault.what)}")


def _began(fault: Fault, starts: RunStarts) -> float | None:
    """Seconds from the start of the run phase; None in a variant that did not reach it."""
    start = starts.get(fault.variant)
    return None if start is None else (fault.began_ns - start) / SECOND


def _same(fault: Fault, began: float, other: Fault, other_began: float) -> bool:
    """True for the same fault in two variants."""
    of_two = fault.variant != other.variant and fault.kind == other.kind
    return of_two and abs(began - other_began) <= SAME_SPAN_SECONDS


def fault_rows(faults: Iterable[Fault], starts: RunStarts) -> list[FaultRow]:
    """Rows of the table of faults, in the order given."""
    return [
        FaultRow(
            variant=fault.variant,
            kind=fault.kind,
            what=_names(fault.what),
            when=_number(_began(fault, starts), 1),
            lasted="never healed" if fault.duration_s is None else _number(fault.duration_s, 1),
            detected=_range(fault.detected_first_s, fault.detected_last_s),
            reconnected=_number(fault.reconnected_s, 2),
            recovered=_number(fault.recovered_s, 2),
            before=_number(fault.delay_before_ms, 1),
            during=_number(fault.delay_during_ms, 1),
            after=_number(fault.delay_after_ms, 1),
            late=_number(fault.late, 0),
            excused=fault.excused,
            lost=fault.lost,
            dropped=_drops(fault),
        )
        for fault in faults
    ]


def _names(what: Sequence[str]) -> str:
    if len(what) <= NAMES_SHOWN + 1:
        return ", ".join(what)
    return f"{', '.join(what[:NAMES_SHOWN])} and {len(what) - NAMES_SHOWN} more"


def _number(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:,.{decimals}f}"


def _range(first: float | None, last: float | None) -> str:
    low, high = _number(first, 2), _number(last, 2)
    return low if low == high else f"{low} to {high}"


def _drops(fault: Fault) -> str:
    if fault.dropped is None:
        return "–"
    counted = zip(fault.drop_counts, fault.drop_reasons, strict=True)
    return ", ".join(f"{count:,} {reason}" for count, reason in counted) or "0"
