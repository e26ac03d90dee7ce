"""Path lengths, against NetworkX."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology import shapes
from topology.links import LinkTemplate, LinkTemplates, Range, build
from topology.metrics import metrics
from topology.paths import DirectedGraph, hop_counts, path_delays

SEEDS = st.integers(0, 2**32)


@given(nodes=st.integers(1, 25), edges=st.integers(0, 60), seed=SEEDS)
def test_delays_are_dijkstras(nodes: int, edges: int, seed: int) -> None:
    rng = random.Random(seed)
    graph: nx.DiGraph[int] = nx.gnm_random_graph(nodes, edges, seed=rng, directed=True)
    for _, _, data in graph.edges(data=True):
        data["delay"] = rng.choice([0.0, rng.random()])
    sources = rng.sample(range(nodes), rng.randint(1, nodes))
    found = path_delays(nodes, [(a, b, data["delay"]) for a, b, data in graph.edges(data=True)], sources)
    for row, source in zip(found, sources, strict=True):
        expected = nx.single_source_dijkstra_path_length(graph, source, weight="delay")
        assert np.allclose(row, [expected.get(node, np.inf) for node in range(nodes)], rtol=1e-12, atol=0)


@given(nodes=st.integers(1, 25), links=st.integers(0, 60), seed=SEEDS, ties=st.booleans())
def test_the_tree_leads_to_each_node_in_the_time_that_the_fastest_path_takes(
    nodes: int, links: int, seed: int, ties: bool
) -> None:
    rng = random.Random(seed)
    edges = [
        (rng.randrange(nodes), rng.randrange(nodes), rng.choice([0.0, 1.0]) if ties else rng.random())
        for _ in range(links)
    ]
    graph, source = DirectedGraph(nodes, edges), rng.randrange(nodes)
    (delays,) = graph.delays_from([source])
    tree = graph.tree(source, delays)
    crossed = set()
    for node in range(nodes):
        path = [edges[number] for number in tree.path_to(node)]
        on_path = [source, *(head for _, head, _ in path)]
        assert on_path == [*(tail for tail, _, _ in path), node] or delays[node] == np.inf
        assert not path or sum(delay for _, _, delay in path) == pytest.approx(delays[node])
        assert bool(path) == (node != source and delays[node] < np.inf)
        crossed.update(tree.path_to(node))
    assert tree.paths_to(range(nodes)) == crossed


@given(brokers=st.integers(2, 40), degree=st.floats(1.95, 5), seed=SEEDS)
def test_hop_counts_are_networkxs(brokers: int, degree: float, seed: int) -> None:
    degree = min(max(degree, 2 * (brokers - 1) / brokers), brokers - 1)
    graph = shapes.cyclic(brokers, degree, random.Random(seed))
    found = hop_counts(graph)
    assert found.diameter == nx.diameter(graph)
    assert found.mean == pytest.approx(nx.average_shortest_path_length(graph))


def test_a_broker_alone_has_no_paths() -> None:
    assert (hop_counts(shapes.line(1)).diameter, hop_counts(shapes.line(1)).mean) == (0, 0)


def test_a_disconnected_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="disconnected"):
        hop_counts(shapes.explicit([("A", "B"), ("C", "D")]))


@given(brokers=st.integers(1, 25), seed=SEEDS)
def test_metrics_are_networkxs(brokers: int, seed: int) -> None:
    rng = random.Random(seed)
    graph = shapes.random_tree(brokers, rng) if brokers < 4 else shapes.cyclic(brokers, 2.3, rng)
    overlay = build("o", graph, LinkTemplates(LinkTemplate(delay=Range(0.001, 0.01)), LinkTemplate()), seed)
    found = metrics(overlay)
    assert (found.brokers, found.links) == (len(graph), graph.number_of_edges())
    assert [found.degrees.get(degree, 0) for degree in range(len(nx.degree_histogram(graph)))] == nx.degree_histogram(
        graph
    )
    assert found.degree.mean == pytest.approx(2 * found.links / found.brokers)
    assert set(found.articulation_points) == set(nx.articulation_points(graph))
    assert set(map(frozenset, found.bridges)) == set(map(frozenset, nx.bridges(graph)))
    if found.delay is None:
        assert brokers == 1
    else:
        assert found.delay.least == 0
        assert found.delay.greatest == max(link.forward.delay for link in overlay.links)
