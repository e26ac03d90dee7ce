"""Coordinates to draw brokers at."""

from __future__ import annotations

import math
import random
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology import shapes
from topology.drawings.layout import Position, layout
from topology.link_properties import Link
from topology.links import LinkTemplates, build
from topology.model import Broker, Overlay


@pytest.mark.parametrize(
    "graph", [shapes.line(1), shapes.line(2), shapes.ring(12), shapes.cyclic(30, 4, random.Random(1)), shapes.tree(30)]
)
def test_in_the_unit_square_apart_and_repeatable(graph: nx.Graph[str]) -> None:
    overlay = build("o", graph, LinkTemplates(), 1)
    positions = layout(overlay)
    assert layout(overlay) == positions
    assert list(positions) == [broker.id for broker in overlay.brokers]
    assert all(0 <= coordinate <= 1 for position in positions.values() for coordinate in position)
    assert all(math.dist(a, b) > 0.02 for a, b in combinations(positions.values(), 2))


def test_linked_brokers_are_nearer_than_others() -> None:
    overlay = build("o", shapes.ring(12), LinkTemplates(), 1)
    positions = layout(overlay)
    linked = [math.dist(positions[link.a], positions[link.b]) for link in overlay.links]
    others = [math.dist(positions["B1"], positions[f"B{number}"]) for number in range(4, 11)]
    assert max(linked) < min(others)


def test_a_scot_is_drawn_as_its_grid() -> None:
    overlay = build("o", shapes.scot(shapes.lettered(shapes.line(3)), 2), LinkTemplates(), 1)
    assert layout(overlay) == {
        "A0": (0, 0), "A1": (0, 1), "B0": (0.5, 0), "B1": (0.5, 1), "C0": (1, 0), "C1": (1, 1)
    }  # fmt: skip


def test_given_positions_are_kept_and_fitted() -> None:
    line = build("o", shapes.line(2), LinkTemplates(), 1)
    brokers = (Broker("B1", {"position": (10.0, 0.0)}), Broker("B2", {"position": (20.0, 5.0)}))
    assert layout(Overlay("o", brokers, line.links)) == {"B1": (0, 0), "B2": (1, 1)}


def test_a_scot_shows_its_acyclic_factor_in_every_cluster() -> None:
    """Columns are regions; the longest path lies straight, and what branches off it stands above."""
    factor = shapes.explicit([("A", "B"), ("B", "C"), ("B", "X"), ("C", "D")])
    positions = layout(build("o", shapes.scot(factor, 3), LinkTemplates(), 1))
    columns = {region: positions[f"{region}0"][0] for region in factor}
    assert len(set(columns.values())) == 5
    for cluster in range(3):
        assert all(positions[f"{region}{cluster}"][0] == columns[region] for region in factor)
        assert len({positions[f"{region}{cluster}"][1] for region in "ABCD"}) == 1
        assert positions[f"X{cluster}"][1] > positions[f"A{cluster}"][1]
    assert positions["X0"][1] < positions["A1"][1], "clusters do not overlap"


def test_a_scot_changed_by_hand_can_still_be_drawn() -> None:
    graph = shapes.scot(shapes.lettered(shapes.line(3)), 2)
    graph.remove_edges_from([("A0", "B0"), ("A1", "B1")])
    graph.add_edge("A0", "C1")
    assert len(set(layout(build("o", graph, LinkTemplates(), 1)).values())) == 6


def _cross(a: Position, b: Position, c: Position, d: Position) -> bool:
    def side(p: Position, q: Position, r: Position) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < -1e-12 and side(c, d, a) * side(c, d, b) < -1e-12


@given(brokers=st.integers(2, 25), seed=st.integers(0, 2**32), clusters=st.integers(1, 2))
def test_no_links_of_a_tree_cross(brokers: int, seed: int, clusters: int) -> None:
    tree = shapes.random_tree(brokers, random.Random(seed))
    for graph in (tree, shapes.scot(shapes.lettered(tree), clusters)):
        overlay = build("o", graph, LinkTemplates(), 1)
        positions = layout(overlay)
        cluster = {broker.id: broker.attributes.get("cluster") for broker in overlay.brokers}
        links = [link for link in overlay.links if cluster[link.a] == cluster[link.b]]
        for one, other in combinations(links, 2):
            ends = (positions[one.a], positions[one.b], positions[other.a], positions[other.b])
            assert len(set(ends)) < 4 or not _cross(*ends), (one, other)


def test_the_root_of_a_tree_is_on_top() -> None:
    positions = layout(build("o", shapes.tree(7), LinkTemplates(), 1))
    assert positions["B1"] == (0.5, 1.0)
    assert {positions[f"B{number}"][1] for number in range(4, 8)} == {0.0}


def test_a_map_keeps_west_and_north() -> None:
    places = {"sf": (37.8, -122.4), "oak": (37.7, -122.3), "ny": (40.7, -74.0), "sydney": (-33.9, 151.2)}
    brokers = tuple(Broker(name, {"latitude": north, "longitude": east}) for name, (north, east) in places.items())
    positions = layout(Overlay("o", brokers, tuple(Link("sf", other) for other in ("oak", "ny", "sydney"))))
    assert sorted(positions, key=lambda name: positions[name][0]) == ["sf", "oak", "ny", "sydney"]
    assert sorted(positions, key=lambda name: positions[name][1]) == ["sydney", "oak", "sf", "ny"]
    assert math.dist(positions["sf"], positions["oak"]) > 0.1, "neighbouring cities come apart"


@pytest.mark.parametrize("attributes", [{"level": "high"}, {"region": "A", "cluster": "x"}, {"latitude": 52.5}])
def test_attributes_that_say_nothing_are_left_alone(attributes: dict[str, str | float]) -> None:
    overlay = Overlay("o", (Broker("A", attributes), Broker("B", attributes)), (Link("A", "B"),))
    assert len(set(layout(overlay).values())) == 2


@pytest.mark.proof
def test_large_overlays_can_be_laid_out() -> None:
    positions = layout(build("o", shapes.ring(510), LinkTemplates(), 1))
    assert len(positions) == 510
    assert all(math.isfinite(coordinate) for position in positions.values() for coordinate in position)
