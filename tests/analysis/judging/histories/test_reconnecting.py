"""Recovery of a best-effort overlay, by its brokers' records of their links. Times in nanoseconds."""

from __future__ import annotations

import pytest

from analysis.judging.histories.losses import LossyOutage
from analysis.judging.histories.reconnecting import reconnected
from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import LogPosition, NeighbourChange
from tests.analysis.history import OVERLAY

CUT = LossyOutage(100, "link_down", "B1->B2", 200, 900)
KILL = LossyOutage(100, "kill", "B2", 200, 900, served=250)


def change(at: int, node: str, neighbour: str, *, up: bool) -> NeighbourChange:
    return NeighbourChange(LogPosition(at, node, 0, at), 0, node, neighbour, up)


def link(a: str, b: str, down: int, up: int) -> list[NeighbourChange]:
    return [change(down, a, b, up=False), change(up, a, b, up=True)]


BOTH_ENDS = [*link("B1", "B2", 150, 210), *link("B2", "B1", 160, 230)]
BOTH_LINKS = [*BOTH_ENDS, *link("B3", "B2", 150, 300)]


@pytest.mark.parametrize(
    ("loss", "changes", "recovered"),
    [
        (CUT, [], 220),
        (CUT, BOTH_ENDS, 250),
        (CUT, link("B1", "B2", 150, 210), 230),
        (CUT, [*BOTH_ENDS, change(400, "B1", "B2", up=False)], 900),
        (CUT, [*BOTH_ENDS, *link("B1", "B2", 400, 410)], 430),
        (CUT, [*BOTH_ENDS, *link("B1", "B2", 890, 890)], 900),
        (CUT, [*BOTH_ENDS, *link("B1", "B2", 50, 60)], 250),
        (LossyOutage(100, "link_down", "B1->B2", FOREVER, FOREVER), BOTH_ENDS, FOREVER),
        (KILL, BOTH_LINKS, 320),
        (KILL, BOTH_ENDS, 250),
    ],
)
def test_recovery_ends_when_both_ends_have_each_other_again(
    loss: LossyOutage, changes: list[NeighbourChange], recovered: int
) -> None:
    (found,) = reconnected([loss], OVERLAY, changes, 20)
    assert found.recovered == recovered


def test_recovery_waits_for_that_from_an_outage_that_began_meanwhile() -> None:
    later = LossyOutage(240, "link_down", "B2->B3", 300, 1000)
    apart = LossyOutage(251, "link_down", "B2->B3", 300, 1000)
    assert [loss.recovered for loss in reconnected([CUT, later], OVERLAY, BOTH_ENDS, 20)] == [320, 320]
    assert [loss.recovered for loss in reconnected([CUT, apart], OVERLAY, BOTH_ENDS, 20)] == [250, 320]
