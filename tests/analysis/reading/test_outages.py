"""Outages: which record ends which, and how long each lasts."""

from __future__ import annotations

from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.log_events import LogPosition, OutageEvent
from analysis.reading.outages import Outage, outage_intervals, outages

BROKERS = frozenset({"B1", "B2", "B-3"})


def event(at: int, target: str, kind: str, begins: bool) -> OutageEvent:
    return OutageEvent(LogPosition(at, "emulator", 0, 0), 0, "", target, kind, begins)


def test_a_fault_lasts_until_it_is_healed_and_some_time_more() -> None:
    found = outage_intervals([event(10, "B1", "kill", True), event(20, "B1", "restart", False)], 5, BROKERS)
    assert found == Intervals.of([(10, 25)])


def test_a_fault_that_is_never_healed_lasts_for_ever() -> None:
    assert outage_intervals([event(10, "B1", "kill", True)], 5, BROKERS).ends == (FOREVER,)


def test_only_what_mends_a_fault_ends_it() -> None:
    events = [
        event(10, "B1", "slow", True),
        event(12, "B1", "kill", True),
        event(14, "B2", "restart", False),
        event(20, "B1", "restart", False),
    ]
    assert outage_intervals(events, 5, BROKERS).ends == (FOREVER,), "it is still slow"
    assert outage_intervals([*events, event(30, "B1", "full_speed", False)], 5, BROKERS) == Intervals.of([(10, 35)])


def test_a_link_is_whole_when_both_directions_are() -> None:
    cut = event(10, "B1-B-3", "link_down", True)
    there, back = event(20, "B1->B-3", "link_up", False), event(30, "B-3->B1", "link_up", False)
    assert outage_intervals([cut, there, back], 1, BROKERS) == Intervals.of([(10, 31)])
    assert outage_intervals([cut, event(15, "B-3-B1", "link_up", False)], 1, BROKERS) == Intervals.of([(10, 16)])


def test_a_fault_of_an_unknown_kind_is_ended_by_any_repair_of_the_same_thing() -> None:
    events = [event(10, "B2", "meteorite", True), event(20, "B2", "rebuilt", False)]
    assert outage_intervals(events, 5, BROKERS) == Intervals.of([(10, 25)])


def test_each_direction_of_a_link_has_an_outage_of_its_own() -> None:
    events = [
        event(10, "B1-B-3", "degrade", True),
        event(12, "B1-B-3", "link_down", True),
        event(13, "B-3->B1", "link_up", False),
        event(14, "B1->B-3", "link_up", False),
    ]
    assert outages(events, BROKERS) == [
        Outage(10, "degrade", "B1-B-3", FOREVER),
        Outage(10, "degrade", "B1-B-3", FOREVER),
        Outage(12, "link_down", "B1-B-3", 13),
        Outage(12, "link_down", "B1-B-3", 14),
    ]
