"""Ways between two brokers: from the notifications that came, and from the overlay alone."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.evidence.ways import Passing, Way, Ways, elements_of, first_ways, taken_in
from topology.link_properties import Link
from topology.model import Broker, Overlay


def overlay(*links: str) -> Overlay:
    """An overlay of the links `A-B`."""
    ends = [tuple(link.split("-")) for link in links]
    brokers = sorted({broker for pair in ends for broker in pair})
    return Overlay("small", tuple(map(Broker, brokers)), tuple(Link(a, b) for a, b in ends))


LINE = overlay("A-B", "B-C", "C-D")
RING_WITH_A_LEAF = overlay("A-B", "B-C", "C-D", "D-A", "C-E")


@pytest.mark.parametrize(
    ("element", "passing"),
    [
        ("A", Passing.CERTAIN),
        ("B", Passing.CERTAIN),
        ("C", Passing.CERTAIN),
        ("D", Passing.NEVER),
        ("A->B", Passing.CERTAIN),
        ("C->D", Passing.NEVER),
    ],
)
def test_a_far_leaf_of_a_line_is_on_no_way(element: str, passing: Passing) -> None:
    assert Ways(LINE).passing("A", "C", element) is passing


def test_the_ways_that_were_seen_say_more_than_the_overlay() -> None:
    seen = [Way.of(0, ("A", "B", "C"))]
    ways = Ways(RING_WITH_A_LEAF, taken_in(0, seen))
    assert ways.passing("A", "C", "B") is Passing.CERTAIN
    assert ways.passing("A", "C", "D") is Passing.IMAGINABLE
    assert ways.passing("A", "C", "E") is Passing.NEVER
    assert ways.passing("C", "A", "D") is Passing.CERTAIN, "nothing was seen in this direction"
    seen.append(Way.of(0, ("A", "D", "C")))
    ways = Ways(RING_WITH_A_LEAF, taken_in(0, seen))
    assert [ways.passing("A", "C", element) for element in ("A", "B", "D", "A->D")] == [
        Passing.CERTAIN, Passing.USUAL, Passing.USUAL, Passing.USUAL
    ]  # fmt: skip
    assert not taken_in(1, seen)


def test_where_ends_are_not_known_or_links_vanish_every_element_may_matter() -> None:
    assert Ways(LINE).passing(None, "C", "D") is Passing.CERTAIN
    assert Ways(LINE, changes=True).passing("A", "B", "D") is Passing.CERTAIN


def test_the_ways_that_are_kept_do_not_depend_on_the_order_of_notifications() -> None:
    ways = [Way.of(0, ("A", f"B{number:03}", "C")) for number in range(100)]
    others = [Way.of(0, ("A", "C", "D")), Way.of(1, ("A", "Z", "C"))]
    kept = first_ways()
    for way in (*reversed(ways), *others):
        kept.add(way)
    assert list(kept) == [*ways[:64], *others]


@st.composite
def connected(draw: st.DrawFn) -> nx.Graph:
    size = draw(st.integers(2, 7))
    graph = nx.Graph()
    for node in range(1, size):
        graph.add_edge(f"B{draw(st.integers(0, node - 1))}", f"B{node}")
    for a, b in draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=4)):
        if a != b:
            graph.add_edge(f"B{a}", f"B{b}")
    return graph


@given(connected(), st.data())
def test_a_broker_is_imaginable_exactly_on_simple_paths(graph: nx.Graph, data: st.DataObject) -> None:
    """Against listing all simple paths."""
    made = overlay(*(f"{a}-{b}" for a, b in graph.edges))
    names = sorted(graph)
    a, b = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
    on_paths = {broker for path in nx.all_simple_paths(graph, a, b) for broker in path} if a != b else {a}
    ways = Ways(made)
    assert {broker for broker in names if ways.passing(a, b, broker) is Passing.CERTAIN} == on_paths


def test_the_elements_of_a_path_are_its_brokers_and_directions() -> None:
    path = ("A", "B", "C")
    assert elements_of(path) == {*path, *(f"{a}->{b}" for a, b in pairwise(path))}
