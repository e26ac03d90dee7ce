"""Rows and shaded intervals of faults in a report."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from analysis.report.figures.faults import fault_rows, shade_faults
from analysis.report.figures.style import blank_figure
from analysis.tables.timeline import Fault

KILL = Fault(
    variant="fixed", kind="kill", what=["B7"], began_ns=110_000_000_000, healed_ns=118_000_000_000, second=10,
    duration_s=8.0, noticed=4, detected_first_s=0.004, detected_last_s=0.25, reconnected_s=0.77, recovered_s=0.0,
    publications=200, due=1400, late=1200, excused=14, lost=0, dropped=12,
    drop_reasons=["neighbour restarted", "output queue full"], drop_counts=[11, 1], delay_before_ms=15.54,
    delay_during_ms=None, delay_after_ms=1968.0,
)  # fmt: skip


STARTS = {"fixed": 100_000_000_000, "dynamic": 200_000_000_000}


def fault(**changes: Any) -> Fault:
    return msgspec.structs.replace(KILL, **changes)


def test_a_fault_becomes_a_row() -> None:
    (row,) = fault_rows([KILL], STARTS)
    assert (row.variant, row.kind, row.what, row.when, row.lasted) == ("fixed", "kill", "B7", "10.0", "8.0")
    assert (row.detected, row.reconnected, row.recovered) == ("0.00 to 0.25", "0.77", "0.00")
    assert (row.before, row.during, row.after) == ("15.5", "–", "1,968.0")
    assert (row.late, row.excused, row.lost) == ("1,200", 14, 0)
    assert row.dropped == "11 neighbour restarted, 1 output queue full"


def test_unknown_values_are_dashes() -> None:
    (row,) = fault_rows(
        [fault(duration_s=None, detected_first_s=None, detected_last_s=None, late=None, recovered_s=None)], STARTS
    )
    assert (row.lasted, row.detected, row.late, row.recovered) == ("never healed", "–", "–", "–")
    (row,) = fault_rows([fault(drop_reasons=[], drop_counts=[], detected_last_s=0.004)], STARTS)
    assert (row.dropped, row.detected) == ("0", "0.00")


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (["B1-B2", "B3-B4", "B5-B6"], "B1-B2, B3-B4, B5-B6"),
        (["B1-B2", "B3-B4", "B5-B6", "B7-B8"], "B1-B2, B3-B4 and 2 more"),
    ],
)
def test_many_links_are_counted(what: list[str], text: str) -> None:
    assert fault_rows([fault(what=what)], STARTS)[0].what == text


def test_a_fault_is_shaded_once_for_all_variants() -> None:
    figure = blank_figure()
    faults = [
        KILL,
        fault(began_ns=113_500_000_000, duration_s=2.0),  # the same variant: another one
        fault(variant="dynamic", began_ns=211_000_000_000),
        fault(variant="dynamic", began_ns=211_900_000_000, kind="pause", duration_s=None),
        fault(variant="dynamic", began_ns=240_000_000_000),
        fault(variant="never ran"),
    ]
    shade_faults(figure, faults, STARTS, end=60.0)
    assert [(shape.x0, shape.x1) for shape in figure.layout.shapes] == [(10, 18), (13.5, 15.5), (11.9, 60), (40, 48)]
    assert [note.text for note in figure.layout.annotations] == ["kill B7", "kill B7", "pause B7", "kill B7"]
