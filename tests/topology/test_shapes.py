"""Generated overlays: connected, of the size and degree asked for, and the same for the same seed."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from topology import shapes
from topology.link_properties import OverlayError

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
        lambda rng: shapes.random_regular(brokers, brokers - 1 if brokers < 4 else 2, rng),
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


@given(brokers=st.integers(2, 60), degree=st.integers(1, 9), seed=SEEDS)
def test_random_regular_has_one_degree(brokers: int, degree: int, seed: int) -> None:
    assume(brokers * degree % 2 == 0 and (2 <= degree < brokers or brokers == degree + 1))
    graph = shapes.random_regular(brokers, degree, random.Random(seed))
    assert {of_broker for _, of_broker in graph.degree} == {degree}
    assert nx.is_connected(graph)
    assert nx.number_of_selfloops(graph) == 0


def test_random_regular_is_no_ring_lattice() -> None:
    """Neighbours in a ring lattice are neighbours of each other, and its diameter grows with its size."""
    graph = shapes.random_regular(300, 5, random.Random(1))
    assert nx.average_clustering(graph) < 0.1
    assert nx.diameter(graph) <= 7


@pytest.mark.parametrize(("brokers", "degree"), [(5, 3), (4, 1), (4, 4), (3, 7)])
def test_impossible_regular_overlays_are_refused(brokers: int, degree: int) -> None:
    with pytest.raises(OverlayError, match=r"must be even|cannot be connected"):
        shapes.random_regular(brokers, degree, random.Random(1))


@given(rows=st.integers(1, 8), columns=st.integers(1, 8))
def test_a_grid_is_the_product_of_two_lines(rows: int, columns: int) -> None:
    graph = shapes.grid(rows, columns)
    named = {(data["row"], data["column"]): node for node, data in graph.nodes(data=True)}
    expected = nx.relabel_nodes(nx.grid_2d_graph(rows, columns), named)
    assert set(map(frozenset, graph.edges)) == set(map(frozenset, expected.edges))
    assert nx.diameter(graph) == rows + columns - 2
    assert named[0, 0] == "B1"


@given(brokers=st.integers(3, 40), branching=st.integers(2, 4))
def test_diameters_are_what_they_must_be(brokers: int, branching: int) -> None:
    assert nx.diameter(shapes.ring(brokers)) == brokers // 2
    assert nx.diameter(shapes.line(brokers)) == brokers - 1
    assert nx.diameter(shapes.star(brokers)) == 2
    assert nx.diameter(shapes.full(brokers)) == 1
    tree = shapes.tree(brokers, branching)
    depth: int = max(tree.nodes[broker]["level"] for broker in tree)
    assert sum(branching**level for level in range(depth)) < brokers
    assert 2 * depth - 1 <= nx.diameter(tree) <= 2 * depth


@given(brokers=st.integers(1, 60), seed=SEEDS)
def test_the_level_of_a_random_tree_is_the_distance_from_its_root(brokers: int, seed: int) -> None:
    graph = shapes.random_tree(brokers, random.Random(seed))
    assert nx.is_tree(graph)
    assert dict(graph.nodes(data="level")) == nx.single_source_shortest_path_length(graph, "B1")


@given(regions=st.integers(1, 8), clusters=st.integers(1, 5), seed=SEEDS)
def test_paths_in_a_scot_are_bounded_by_its_acyclic_factor(regions: int, clusters: int, seed: int) -> None:
    """Within a cluster diam(G_af), between clusters one more. (OctopiA, section 9.1)"""
    acyclic = shapes.lettered(shapes.random_tree(regions, random.Random(seed)))
    graph = shapes.scot(acyclic, clusters)
    bound = nx.diameter(acyclic)
    assert nx.diameter(graph) == bound + (clusters > 1)
    cluster = [node for node, index in graph.nodes(data="cluster") if index == 0]
    assert nx.diameter(graph.subgraph(cluster)) == bound


@given(nodes=st.integers(1, 10), replicas=st.integers(1, 4), seed=SEEDS)
def test_a_redundant_tree_links_all_brokers_of_neighbouring_nodes(nodes: int, replicas: int, seed: int) -> None:
    """Against the model in section 2 of the Gryphon paper."""
    tree = shapes.lettered(shapes.random_tree(nodes, random.Random(seed)))
    graph = shapes.redundant_tree(tree, replicas)
    at = dict(graph.nodes(data="node"))
    for a in graph:
        for b in graph:
            linked = a != b and (at[a] == at[b] or tree.has_edge(at[a], at[b]))
            assert graph.has_edge(a, b) == linked
    for node in tree:
        members = [broker for broker in graph if at[broker] == node]
        assert len(members) == (1 if node == "A" or tree.degree(node) == 1 else replicas)
        assert all(graph.nodes[broker]["level"] == nx.shortest_path_length(tree, "A", node) for broker in members)


def test_a_redundant_tree_survives_the_loss_of_all_replicas_but_one() -> None:
    graph = shapes.redundant_tree(shapes.explicit([("pb", "ib"), ("ib", "sb1"), ("ib", "sb2")]), 3)
    assert list(graph) == ["pb", "ib1", "ib2", "ib3", "sb1", "sb2"]
    graph.remove_nodes_from(["ib1", "ib2"])
    assert nx.is_connected(graph)


def test_a_redundant_tree_keeps_replicas_and_nodes_apart() -> None:
    graph = shapes.redundant_tree(shapes.explicit([("R", "N2"), ("N2", "N21"), ("N2", "N3")]), 2)
    assert list(graph) == ["R", "N2.1", "N2.2", "N21", "N3"]
    with pytest.raises(OverlayError, match="get the name I1"):
        shapes.redundant_tree(shapes.explicit([("R", "I"), ("I", "I1")]), 2)


def test_a_redundant_tree_of_a_cycle_is_refused() -> None:
    with pytest.raises(OverlayError, match="without cycles"):
        shapes.redundant_tree(shapes.ring(3), 2)


@given(layers=st.integers(3, 15), hub=st.integers(2, 20), more=st.integers(0, 30), extra=st.integers(0, 20), seed=SEEDS)
def test_a_layered_overlay_has_its_length_its_links_and_its_hub(
    layers: int, hub: int, more: int, extra: int, seed: int
) -> None:
    others = layers - 3
    brokers = hub + 1 + (others + more if others else 0)
    degree = 2 * (brokers - 1 + extra) / brokers
    try:
        graph = shapes.layered(brokers, layers, degree, hub, random.Random(seed))
    except OverlayError as error:
        assert "cannot have a mean degree" in str(error)
        return
    assert len(graph) == brokers
    assert graph.number_of_edges() == brokers - 1 + extra
    assert nx.is_connected(graph)
    assert hub in dict(graph.degree).values()
    if layers > 3:
        assert nx.shortest_path_length(graph, "B1", f"B{brokers}") == layers - 1


def test_a_layered_overlay_links_its_hub_to_the_three_middle_layers_only() -> None:
    """30 brokers, 13 layers, a hub of 12: the layers hold 1 2 2 2 2 4 5 4 2 2 2 1 1, so the hub is B14."""
    graph = shapes.layered(30, 13, 4, 12, random.Random(1))
    assert set(graph["B14"]) == {f"B{number}" for number in range(10, 23)} - {"B14"}
    assert all(of_broker <= 5 for broker, of_broker in graph.degree if broker != "B14")
    distances = nx.single_source_shortest_path_length(graph, "B1")
    assert [distances[broker] for broker in ("B14", "B27", "B28", "B29", "B30")] == [6, 10, 10, 11, 12]


@pytest.mark.parametrize(("brokers", "layers", "hub"), [(10, 13, 4), (10, 3, 4), (10, 5, 1)])
def test_a_layered_overlay_needs_brokers_for_every_layer(brokers: int, layers: int, hub: int) -> None:
    with pytest.raises(OverlayError, match="around a hub"):
        shapes.layered(brokers, layers, 3, hub, random.Random(1))
