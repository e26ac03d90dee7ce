"""The time in which brokers were cut off from each other, against a search for paths at every moment."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.histories.cuts import NO_CUTS, cuts_of
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.outages import Outage
from tests.analysis.diamond import DIAMOND
from topology.link_properties import Link
from topology.model import Broker, Overlay

BROKERS = [broker.id for broker in DIAMOND.brokers]
LINKS = [(link.a, link.b) for link in DIAMOND.links]
TARGETS = [*BROKERS, *(f"{a}{join}{b}" for a, b in LINKS for join in ("-", "->")), *(f"{b}->{a}" for a, b in LINKS)]

outages = st.builds(
    lambda begin, target, lasts: Outage(begin, "kill", target, FOREVER if lasts is None else begin + lasts),
    st.integers(0, 20),
    st.sampled_from(TARGETS),
    st.none() | st.integers(1, 10),
)


def connected(a: str, b: str, out: set[str], overlay: Overlay = DIAMOND) -> bool:
    """True when a path joins two brokers while these brokers, links and directions of links are out."""
    graph = nx.Graph()
    graph.add_nodes_from(broker.id for broker in overlay.brokers if broker.id not in out)
    for one, other in overlay.pairs:
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


RING = Overlay(
    "ring", tuple(Broker(f"B{n}") for n in range(1, 7)), tuple(Link(f"B{n}", f"B{n % 6 + 1}") for n in range(1, 7))
)
RING_TARGETS = [
    *(broker.id for broker in RING.brokers),
    *(f"{link.a}{join}{link.b}" for link in RING.links for join in ("-", "->")),
    *("B1-B3", "B1->B4", "B9", "sessions"),  # neither brokers nor links of the ring
]


def naive_cut(found: list[Outage], a: str, b: str, lingering: int, run_end: int) -> Intervals:
    """The result of `cuts_of`, found by a look at all outages at each moment."""
    moments = sorted({time for outage in found for time in (outage.begin, outage.end) if time < FOREVER})
    apart = Intervals.of(
        (time, until)
        for time, until in pairwise((*moments, FOREVER))
        if not connected(a, b, {each.target for each in found if each.begin <= time < each.end}, RING)
    )
    lasting = (FOREVER if end + lingering >= run_end else end + lingering for end in apart.ends)
    return Intervals.of(zip(apart.starts, lasting, strict=True))


@given(
    st.lists(
        st.builds(
            lambda begin, target, lasts: Outage(begin, "kill", target, begin + lasts),
            st.integers(0, 30),
            st.sampled_from(RING_TARGETS),
            st.integers(0, 15) | st.just(FOREVER),
        ),
        max_size=25,
    ),
    st.integers(0, 4),
    st.integers(10, 60),
)
def test_cuts_are_those_of_a_look_at_all_outages_at_each_moment(
    found: list[Outage], lingering: int, run_end: int
) -> None:
    found = [replace(outage, end=min(outage.end, FOREVER)) for outage in found]
    cuts = cuts_of(RING, found, lingering, run_end)
    for a, b in combinations_with_replacement((broker.id for broker in RING.brokers), 2):
        assert cuts.between(a, b) == naive_cut(found, a, b, lingering, run_end)


def test_only_changes_of_islands_are_kept() -> None:
    outages = [Outage(time, "link_down", "B1-B2", time + 1) for time in range(0, 1000, 2)]
    assert cuts_of(RING, outages, 0, FOREVER).moments == [0]


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
