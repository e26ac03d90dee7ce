"""SCOTs found in graphs that do not call themselves so."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology import shapes
from topology.links import LinkTemplates, build
from topology.model import Overlay
from topology.structures.recognition import recognised
from topology.structures.scot import scot_of, with_coordinates


def bare(graph: nx.Graph[str], rng: random.Random) -> Overlay:
    """Brokers in any order, under names and with attributes that say nothing."""
    names = [f"B{number}" for number in range(len(graph))]
    rng.shuffle(names)
    renamed = nx.relabel_nodes(graph, dict(zip(graph, names, strict=True)))
    shuffled: nx.Graph[str] = nx.Graph()
    shuffled.add_nodes_from(sorted(renamed))
    edges = [rng.choice(((a, b), (b, a))) for a, b in renamed.edges]
    rng.shuffle(edges)
    shuffled.add_edges_from(edges)
    return build("o", shuffled, LinkTemplates(), 1)


@given(regions=st.integers(1, 9), clusters=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_every_scot_is_recognised(regions: int, clusters: int, seed: int) -> None:
    rng = random.Random(seed)
    acyclic = shapes.lettered(shapes.random_tree(regions, rng))
    overlay = bare(shapes.scot(acyclic, clusters), rng)
    coordinates = recognised(overlay)
    assert coordinates is not None
    assert coordinates == recognised(overlay)
    found = scot_of(with_coordinates(overlay, coordinates))
    assert found.coordinates["B0"].cluster == 0
    if {regions, clusters} == {1, 2}:
        return  # one link, which can be either kind
    assert len(found.clusters) == clusters
    assert nx.is_isomorphic(found.acyclic_factor, acyclic)


def is_scot(graph: nx.Graph[str]) -> bool:
    """True for a SCOT, found by trying every way to label the brokers with the sizes that there can be."""
    brokers = len(graph)
    return any(
        nx.is_isomorphic(graph, shapes.scot(shapes.lettered(nx.relabel_nodes(tree, str)), clusters))
        for clusters in range(1, brokers + 1)
        if brokers % clusters == 0
        for tree in (nx.nonisomorphic_trees(brokers // clusters) if brokers // clusters > 1 else [nx.empty_graph(1)])
    )


@given(brokers=st.integers(1, 8), degree=st.floats(1, 5), seed=st.integers(0, 2**32))
def test_what_is_recognised_is_what_is_one(brokers: int, degree: float, seed: int) -> None:
    rng = random.Random(seed)
    graph = nx.relabel_nodes(nx.gnp_random_graph(brokers, min(1, degree / brokers), seed), str)
    if not nx.is_connected(graph):
        return
    assert (recognised(bare(graph, rng)) is not None) == is_scot(graph)


@pytest.mark.parametrize(
    ("graph", "clusters"),
    [
        (shapes.line(5), 1),
        (shapes.star(6), 1),
        (shapes.full(5), 5),
        (shapes.ring(3), 3),
        (shapes.ring(4), 2),
        (shapes.grid(2, 6), 2),
        (shapes.ring(5), None),
        (shapes.grid(3, 3), None),
        (nx.relabel_nodes(nx.hypercube_graph(3), lambda node: "".join(map(str, node))), None),
    ],
)
def test_shapes_that_are_scots_and_shapes_that_are_none(graph: nx.Graph[str], clusters: int | None) -> None:
    overlay = build("o", graph, LinkTemplates(), 1)
    coordinates = recognised(overlay)
    assert (coordinates and 1 + max(place.cluster for place in coordinates.values())) == clusters
