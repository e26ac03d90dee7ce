"""The CBF tree: minimum, the same for any order of the links, refused where brokers are apart."""

from __future__ import annotations

import itertools
from random import Random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.cbf.tree import decode_neighbours, encode_neighbours, spanning_tree
from broker_service.routing.preparation import PlannedLink


@st.composite
def connected(draw: st.DrawFn) -> tuple[list[str], list[PlannedLink]]:
    """Brokers, and links with many equal delays that connect them."""
    names = [f"B{number}" for number in range(1, draw(st.integers(1, 9)) + 1)]
    pairs = {tuple(sorted((draw(st.sampled_from(names[:place])), names[place]))) for place in range(1, len(names))}
    more = list(itertools.combinations(names, 2))
    pairs |= set(draw(st.lists(st.sampled_from(more)))) if more else set()
    links = [PlannedLink(a, b, draw(st.integers(0, 4)), draw(st.integers(0, 4))) for a, b in sorted(pairs)]
    return names, draw(st.permutations(links))


@given(connected())
def test_the_tree_is_a_minimum_spanning_tree_over_round_trips(overlay: tuple[list[str], list[PlannedLink]]) -> None:
    names, links = overlay
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((link.a, link.b, link.delay + link.reverse_delay) for link in links)
    tree = spanning_tree(names, links)
    edges = {frozenset((broker, other)) for broker, neighbours in tree.items() for other in neighbours}
    assert all(broker in tree[other] for broker, neighbours in tree.items() for other in neighbours)
    assert len(names) == 1 or nx.is_tree(nx.Graph([*map(tuple, edges)]))
    assert sum(graph.edges[tuple(edge)]["weight"] for edge in edges) == nx.minimum_spanning_tree(graph).size("weight")


@given(connected(), st.randoms(use_true_random=False))
def test_the_order_of_the_links_does_not_matter(overlay: tuple[list[str], list[PlannedLink]], random: Random) -> None:
    names, links = overlay
    turned = [PlannedLink(link.b, link.a, link.reverse_delay, link.delay) for link in links]
    random.shuffle(turned)
    assert {broker: set(found) for broker, found in spanning_tree(names, turned).items()} == {
        broker: set(found) for broker, found in spanning_tree(names, links).items()
    }


def test_brokers_that_no_link_joins_are_refused() -> None:
    with pytest.raises(ValueError, match="the links do not connect them"):
        spanning_tree(["A", "B", "C"], [PlannedLink("A", "B", 1.0, 1.0)])


def test_neighbours_survive_their_encoding() -> None:
    assert list(decode_neighbours(encode_neighbours(["A", "B"]))) == ["A", "B"]
