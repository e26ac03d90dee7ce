"""The CBF tree: minimum, the same for any order of the links, refused where brokers are apart."""

from __future__ import annotations

import itertools
from random import Random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.cbf.tree import cbf_tree, decode_neighbours, encode_neighbours
from broker_service.routing.options import PlannedLink


@st.composite
def connected(draw: st.DrawFn) -> tuple[list[str], list[PlannedLink]]:
    """Brokers, and links with many equal delays that connect them."""
    names = [f"B{number}" for number in range(1, draw(st.integers(1, 9)) + 1)]
    pairs = {tuple(sorted((draw(st.sampled_from(names[:place])), names[place]))) for place in range(1, len(names))}
    more = list(itertools.combinations(names, 2))
    pairs |= set(draw(st.lists(st.sampled_from(more)))) if more else set()
    links = [PlannedLink(a, b, draw(st.integers(0, 1)), draw(st.integers(0, 1))) for a, b in sorted(pairs)]
    return names, draw(st.permutations(links))


@given(connected())
def test_the_tree_is_minimum_over_round_trips_and_the_first_brokers_links_come_first(
    overlay: tuple[list[str], list[PlannedLink]],
) -> None:
    names, links = overlay
    shortest_first = sorted(links, key=lambda link: (link.delay + link.reverse_delay, link.a, link.b))
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((link.a, link.b, place) for place, link in enumerate(shortest_first))
    expected = nx.minimum_spanning_tree(graph)
    assert cbf_tree(names, links) == {
        broker: sorted(expected[broker], key=lambda other: graph.edges[broker, other]["weight"]) for broker in names
    }


@given(connected(), st.randoms(use_true_random=False))
def test_the_order_of_the_links_does_not_matter(overlay: tuple[list[str], list[PlannedLink]], random: Random) -> None:
    names, links = overlay
    turned = [
        PlannedLink(link.b, link.a, link.reverse_delay, link.delay) if random.randrange(2) else link for link in links
    ]
    random.shuffle(turned)
    assert cbf_tree(names, turned) == cbf_tree(names, links)


def test_brokers_that_no_link_joins_are_refused() -> None:
    with pytest.raises(ValueError, match="the links do not connect them"):
        cbf_tree(["A", "B", "C"], [PlannedLink("A", "B", 1.0, 1.0)])


def test_neighbours_survive_their_encoding() -> None:
    assert list(decode_neighbours(encode_neighbours(["A", "B"]))) == ["A", "B"]
