"""Brokers that delay others because of a slow reader are named, by how much later these were."""

from __future__ import annotations

import pytest

from analysis.budget.tally import BesideSlowReaders
from analysis.pipeline.held_up import held_up
from analysis.tables.summary import HELD_UP
from record.time_units import MILLISECOND
from topology.link_properties import LinkProperties
from topology.sites import Site

AT_REST = LinkProperties(delay=0.01)
SLOW = Site("slow", "B2", ("S1",), AT_REST, AT_REST, reads=10.0)
QUICK = Site("quick", "B2", ("S2",), AT_REST, AT_REST)


def sums(broker: str, mean_ms: float, notifications: int = 100) -> BesideSlowReaders:
    return BesideSlowReaders(0, broker, notifications, round(notifications * mean_ms * MILLISECOND))


@pytest.mark.parametrize(
    ("found", "usual_ms", "named"),
    [
        (sums("B2", 30.0), 1.0, True),
        (sums("B2", 20.0), 1.0, False),  # less than a quarter of the 100 ms that the reader takes
        (sums("B2", 30.0), 9.0, False),  # it is nearly as late where no session is full
        (sums("B2", 30.0, notifications=19), 1.0, False),  # too few for a mean
        (sums("B2", -30.0), 1.0, False),
    ],
)
def test_a_broker_is_named_where_others_are_later_by_what_the_reader_takes(
    found: BesideSlowReaders, usual_ms: float, *, named: bool
) -> None:
    defects = list(held_up([found, sums("", usual_ms)], [SLOW, QUICK]))
    assert [defect.broker for defect in defects] == (["B2"] if named else [])
    for defect in defects:
        assert defect.kind == HELD_UP
        assert "took 29.0 ms longer" in defect.detail
        assert "(slow)" in defect.detail


def test_nobody_is_named_by_what_is_not_there() -> None:
    assert not list(held_up([], [SLOW]))
    assert [defect.broker for defect in held_up([sums("B2", 30.0)], [SLOW])] == ["B2"]
