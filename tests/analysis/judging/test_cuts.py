"""The time in which brokers were cut off from each other, against a search for paths at every moment."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.cuts import NO_CUTS, cuts_of
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.outages import Outage
from tests.analysis.diamond import DIAMOND

BROKERS = [broker.id for broker in DIAMOND.brokers]
LINKS = [(link.a, link.b) for link in DIAMOND.links]
TARGETS = [*BROKERS, *(f"{a}{join}{b}" for a, b in LINKS for join in ("-", "->")), *(f"{b}->{a}" for a, b in LINKS)]

outages = st.builds(
    lambda begin, target, lasts: Outage(begin, "kill", target, FOREVER if lasts is None else begin + lasts),
    st.integers(0, 20),
    st.sampled_from(TARGETS),
    st.none() | st.integers(1, 10),
)


def connected(a: str, b: str, out: set[str]) -> bool:
    """True when a path joins two brokers while these brokers, links and directions of links are out."""
    graph = nx.Graph()
    graph.add_nodes_from(broker for broker in BROKERS if broker not in out)
    for one, other in LINKS:
        if not out & {one, other, f"{one}-{other}", f"{one}->{other}", f"{other}->{one}"}:
            graph.add_edge(one, other)
    return a in graph and b in graph and nx.has_path(graph, a, b)


@given(st.lists(outages, max_size=6), st.sampled_from(BROKERS), st.sampled_from(BROKERS), st.integers(0, 40))
def test_brokers_are_cut_off_where_no_path_is_left(found: list[Outage], a: str, b: str, half: int) -> None:
    """At moments between those at which something changes, because intervals are closed."""
    doubled = [Outage(2 * each.begin, each.kind, each.target, min(2 * each.end, FOREVER)) for each in found]
    time = 2 * half + 1
    out = {outage.target for outage in doubled if outage.begin <= time < outage.end}
    between = cuts_of(DIAMOND, doubled, 0, FOREVER).between(a, b)
    assert between.overlaps(time, time) == (not connected(a, b, out))
    assert between == cuts_of(DIAMOND, doubled, 0, FOREVER).between(b, a)


def test_a_cut_lasts_until_the_overlay_has_recovered() -> None:
    both = [Outage(10, "kill", "B2", 20), Outage(12, "link_down", "B1-B4", 15)]
    assert cuts_of(DIAMOND, both, 5, 100).between("B1", "B3") == Intervals.of([(12, 20)])
    assert cuts_of(DIAMOND, both, 5, 100).between("B3", "B4") == NONE
    assert cuts_of(DIAMOND, both, 5, 100).between("B2", "B2") == Intervals.of([(10, 25)])


@pytest.mark.parametrize(("run_end", "unending"), [(21, FOREVER), (20, 12), (19, 12)])
def test_a_cut_that_has_not_recovered_when_the_run_ends_never_ends(run_end: int, unending: int) -> None:
    both = [Outage(10, "kill", "B2", 20), Outage(12, "link_down", "B1-B4", 15)]
    assert cuts_of(DIAMOND, both, 5, run_end).between("B1", "B3").unending == unending


def test_without_outages_and_without_a_broker_nothing_is_cut_off() -> None:
    assert NO_CUTS.between("B1", "B3") is NONE
    assert cuts_of(DIAMOND, [], 5, 100).between("B1", "B3") is NONE
    assert cuts_of(DIAMOND, [Outage(1, "kill", "B2", 2)], 5, 100).between(None, "B2") is NONE
