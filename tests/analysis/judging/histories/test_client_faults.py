"""Outages of sessions begin with the faults of their clients, and not before the sessions were last open."""

from __future__ import annotations

from analysis.judging.histories.client_faults import SessionElements, begun_with_faults
from analysis.reading.outages import Outage
from topology.link_properties import LinkProperties
from topology.sites import Site

SESSION = ("subscribers S", "B1")
ELEMENTS = SessionElements([Site("berlin", "B1", ("S",), LinkProperties(), LinkProperties())])


def begins(outages: list[tuple[int, int]], *faults: tuple[int, int]) -> list[int]:
    sessions = {SESSION: [Outage(begin, "", "B1", end) for begin, end in outages]}
    struck = [Outage(begin, "crash", "client S", end) for begin, end in faults]
    return [down.begin for down in begun_with_faults(sessions, struck, ELEMENTS, 30)[SESSION]]


def test_an_outage_begins_with_the_fault_that_explains_it() -> None:
    assert begins([(120, 140)], (100, 110)) == [100]
    assert begins([(150, 160)], (100, 110)) == [150]


def test_no_outage_begins_before_the_session_was_last_open() -> None:
    assert begins([(101, 120), (131, 140)], (100, 110), (130, 135)) == [100, 130]
    assert begins([(101, 120), (131, 140)], (100, 110)) == [100, 131]
    assert begins([(101, 120), (131, 140)], (100, 125)) == [100, 120]
