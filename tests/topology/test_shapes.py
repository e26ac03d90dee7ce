"""Generated overlays: connected, of the size and degree asked for, and the same for the same seed."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from topology import OverlayError, shapes

SEEDS = st.integers(0, 2**32)


@given(brokers=st.integers(2, 60), degree=st.floats(1, 12), seed=SEEDS)
def test_cyclic_has_exactly_the_links_asked_for(brokers: int, degree: float, seed: int) -> None:
    links = round(brokers * degree / 2)
    assume(brokers - 1 <= links <= brokers * (brokers - 1) // 2)
    graph = shapes.cyclic(brokers, degree, random.Random(seed))
    assert len(graph) == brokers
    assert graph.number_of_edges() == links
    assert nx.is_connected(graph)
    assert nx.number_of_selfloops(graph) == 0


@given(brokers=st.integers(8, 60), degree=st.floats(2, 6), seed=SEEDS)
def test_cyclic_degrees_are_near_the_mean(brokers: int, degree: float, seed: int) -> None:
    graph = shapes.cyclic(brokers, degree, random.Random(seed))
    mean = 2 * graph.number_of_edges() / brokers
    assert all(abs(of_broker - mean) < 2 for _, of_broker in graph.degree)


def test_cyclic_is_no_ring_with_chords() -> None:
    """A ring with chords stays connected without any one link; a random overlay sometimes does not."""
    assert any(nx.has_bridges(shapes.cyclic(12, 2.5, random.Random(seed))) for seed in range(50))


@given(brokers=st.integers(2, 40), seed=SEEDS)
def test_one_seed_one_overlay(brokers: int, seed: int) -> None:
    for generate in (
        lambda rng: shapes.cyclic(brokers, 2 * (brokers - 1) / brokers, rng),
        lambda rng: shapes.random_tree(brokers, rng),
    ):
        once, again = generate(random.Random(seed)), generate(random.Random(seed))
        assert list(once.edges) == list(again.edges)
        assert list(once) == [f"B{number}" for number in range(1, brokers + 1)]


@pytest.mark.parametrize(("brokers", "degree"), [(30, 1.5), (4, 4), (2, 2)])
def test_impossible_degrees_are_refused(brokers: int, degree: float) -> None:
    with pytest.raises(OverlayError, match="cannot have a mean degree"):
        shapes.cyclic(brokers, degree, random.Random(1))


@pytest.mark.parametrize(
    ("graph", "links"),
    [
        (shapes.line(1), 0),
        (shapes.line(4), 3),
        (shapes.ring(4), 4),
        (shapes.star(5), 4),
        (shapes.full(5), 10),
        (shapes.tree(7), 6),
    ],
)
def test_regular_shapes(graph: nx.Graph[str], links: int) -> None:
    assert nx.is_connected(graph)
    assert graph.number_of_edges() == links
    assert next(iter(graph)) == "B1"


def test_a_tree_is_filled_level_by_level() -> None:
    graph = shapes.tree(8, branching=3)
    assert nx.get_node_attributes(graph, "level") == {
        "B1": 0, "B2": 1, "B3": 1, "B4": 1, "B5": 2, "B6": 2, "B7": 2, "B8": 2
    }  # fmt: skip
    assert sorted(graph["B2"]) == ["B1", "B5", "B6", "B7"]


@given(regions=st.integers(1, 8), clusters=st.integers(1, 5), seed=SEEDS)
def test_a_scot_is_the_product_of_its_factors(regions: int, clusters: int, seed: int) -> None:
    """Against the definition of the Cartesian product (OctopiA, section 3.1)."""
    acyclic = shapes.lettered(shapes.random_tree(regions, random.Random(seed)))
    graph = shapes.scot(acyclic, clusters)
    coordinates = {node: (data["region"], data["cluster"]) for node, data in graph.nodes(data=True)}
    assert len(set(coordinates.values())) == regions * clusters
    for a, (region_a, cluster_a) in coordinates.items():
        for b, (region_b, cluster_b) in coordinates.items():
            same_region = region_a == region_b and cluster_a != cluster_b
            same_cluster = cluster_a == cluster_b and acyclic.has_edge(region_a, region_b)
            assert graph.has_edge(a, b) == (same_region or same_cluster)


def test_a_scot_of_a_cycle_is_refused() -> None:
    with pytest.raises(OverlayError, match="without cycles"):
        shapes.scot(shapes.ring(3), 2)


def test_a_scot_with_ambiguous_names_is_refused() -> None:
    with pytest.raises(OverlayError, match="get one name"):
        shapes.scot(shapes.explicit([("A", "A1")]), 12)
