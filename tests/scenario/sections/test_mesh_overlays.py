"""Overlays laid over a mesh."""

from __future__ import annotations

import math
import random
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenario.sections.topology import mesh_overlays
from topology.full_mesh import full_mesh_on
from topology.link_properties import OverlayError
from topology.links import LinkTemplate, LinkTemplates, Range
from topology.model import Broker
from topology.underlays.mesh import Mesh

SIZES, SEEDS = st.integers(1, 20), st.integers(0, 2**32)
TEMPLATES = LinkTemplates(LinkTemplate(jitter_share=0.1, loss=Range(0.0, 0.5)))


def random_mesh(size: int, seed: int) -> Mesh:
    delays = np.random.default_rng(seed).uniform(0.001, 0.1, (size, size))
    return Mesh("m", tuple(Broker(f"B{i}", {"number": i}) for i in range(size)), delays)


def complete(mesh: Mesh) -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(broker.id for broker in mesh.brokers)
    for a, b in combinations(list(graph), 2):
        graph.add_edge(a, b, weight=mesh.delay(a, b) + mesh.delay(b, a))
    return graph


@given(size=SIZES, seed=SEEDS)
def test_the_minimum_spanning_tree_is_networkxs(size: int, seed: int) -> None:
    mesh = random_mesh(size, seed)
    found = mesh_overlays.minimum_spanning_tree(mesh)
    expected = nx.minimum_spanning_tree(complete(mesh))
    assert set(map(frozenset, found.edges)) == set(map(frozenset, expected.edges))
    assert list(found) == [broker.id for broker in mesh.brokers]


@given(size=SIZES, seed=SEEDS, count=st.integers(1, 5))
def test_nearest_neighbours_are_linked_and_connected(size: int, seed: int, count: int) -> None:
    mesh = random_mesh(size, seed)
    found, everyone = mesh_overlays.nearest_neighbours(mesh, count), complete(mesh)
    nearest = {
        frozenset((broker, other))
        for broker in everyone
        for other in sorted(everyone[broker], key=lambda other: everyone[broker][other]["weight"])[:count]
    }
    tree = set(map(frozenset, nx.minimum_spanning_tree(everyone).edges))
    assert set(map(frozenset, found.edges)) == nearest | tree
    assert nx.is_connected(found)


@given(size=SIZES, seed=SEEDS)
def test_links_have_the_delays_of_the_mesh_in_each_direction(size: int, seed: int) -> None:
    mesh = random_mesh(size, seed)
    overlay = full_mesh_on("o", mesh, TEMPLATES, seed)
    assert overlay.name == "o"
    assert overlay.brokers == mesh.brokers
    assert len(overlay.links) == size * (size - 1) // 2
    for link in overlay.links:
        assert link.forward.delay == mesh.delay(link.a, link.b)
        assert link.backward.delay == mesh.delay(link.b, link.a)
        assert link.backward.jitter == pytest.approx(0.1 * link.backward.delay)
        assert link.forward.loss == link.backward.loss, "directions are alike, the delay apart"


def test_random_links_take_no_notice_of_delays() -> None:
    mesh = random_mesh(20, 1)
    graph = mesh_overlays.random_links(mesh, 4, random.Random(1))
    assert graph.number_of_edges() == 40
    assert nx.is_connected(graph)
    assert graph.nodes["B3"] == {"number": 3}


def test_unknown_delays_are_refused_or_avoided_but_never_made_up() -> None:
    delays = np.array([[0, 1, 3], [1, 0, math.nan], [3, 2, 0]])
    mesh = Mesh("m", tuple(map(Broker, "ABC")), delays)
    with pytest.raises(OverlayError, match="1 missing, such as B to C"):
        full_mesh_on("o", mesh, TEMPLATES, 1)
    assert set(mesh_overlays.minimum_spanning_tree(mesh).edges) == {("A", "B"), ("A", "C")}
    assert set(mesh_overlays.nearest_neighbours(mesh, 2).edges) == {("A", "B"), ("A", "C")}
    with pytest.raises(OverlayError, match="link B - C: the mesh lacks its delay"):
        mesh_overlays.overlay_on("o", mesh, nx.path_graph(["A", "B", "C"]), TEMPLATES, 1)


def test_a_mesh_that_is_not_connected_has_no_tree() -> None:
    delays = np.ones((4, 4))
    delays[:2, 2:] = math.nan
    mesh = Mesh("m", tuple(map(Broker, "ABCD")), delays)
    with pytest.raises(OverlayError, match="2 are out of reach of A, such as C"):
        mesh_overlays.minimum_spanning_tree(mesh)


def test_no_neighbours_are_refused() -> None:
    with pytest.raises(OverlayError, match="at least one nearest neighbour"):
        mesh_overlays.nearest_neighbours(random_mesh(3, 1), 0)
