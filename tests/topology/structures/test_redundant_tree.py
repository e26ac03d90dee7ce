"""Redundant trees, declared and recognised."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology import shapes
from topology.link_properties import OverlayError
from topology.links import LinkTemplates, build
from topology.model import Overlay
from topology.structures.recognition import with_recognised_attributes
from topology.structures.redundant_tree import recognised_nodes, redundant_tree_of, with_nodes


def overlay(graph: nx.Graph[str]) -> Overlay:
    return build("o", graph, LinkTemplates(), 1)


def bare(graph: nx.Graph[str]) -> Overlay:
    """The overlay without attributes."""
    plain: nx.Graph[str] = nx.Graph()
    plain.add_nodes_from(graph)
    plain.add_edges_from(graph.edges)
    return overlay(plain)


@given(nodes=st.integers(3, 9), replicas=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_every_redundant_tree_is_recognised(nodes: int, replicas: int, seed: int) -> None:
    tree = nx.relabel_nodes(shapes.random_tree(nodes, random.Random(seed)), str)
    graph = shapes.redundant_tree(tree, replicas)
    declared = redundant_tree_of(overlay(graph))
    assert {node: len(brokers) for node, brokers in declared.members.items()} == {
        node: 1 if node == next(iter(tree)) or tree.degree(node) == 1 else replicas for node in tree
    }
    found = recognised_nodes(bare(graph))
    assert found is not None
    again = redundant_tree_of(with_nodes(bare(graph), found))
    assert sum(map(len, again.members.values())) == len(graph)
    for members in declared.members.values():
        assert len({found[broker] for broker in members}) == 1


@given(brokers=st.integers(1, 8), degree=st.floats(1, 6), seed=st.integers(0, 2**32))
def test_what_is_recognised_is_one(brokers: int, degree: float, seed: int) -> None:
    graph = nx.relabel_nodes(nx.gnp_random_graph(brokers, min(1, degree / brokers), seed), str)
    if not nx.is_connected(graph):
        return
    found = recognised_nodes(overlay(graph))
    if nx.is_tree(graph) or nx.density(graph) == 1:
        assert found is not None
    if found is not None:
        assert redundant_tree_of(with_nodes(overlay(graph), found))


def test_a_ring_is_none() -> None:
    ring = nx.relabel_nodes(nx.cycle_graph(5), str)
    assert recognised_nodes(overlay(ring)) is None
    with pytest.raises(OverlayError, match="do not form a tree"):
        redundant_tree_of(overlay(ring))


def test_a_node_whose_brokers_are_not_all_linked_is_none() -> None:
    square = nx.relabel_nodes(nx.cycle_graph(4), str)
    nodes = {"0": "a", "1": "b", "2": "a", "3": "b"}
    with pytest.raises(OverlayError, match="not linked"):
        redundant_tree_of(with_nodes(overlay(square), nodes))


def test_the_overlay_of_the_failure_test() -> None:
    tree = nx.Graph([("pb", "ib"), ("ib", "sb1"), ("ib", "sb2")])
    found = redundant_tree_of(overlay(shapes.redundant_tree(tree, 3)))
    assert set(found.edge_nodes) == {"pb", "sb1", "sb2"}
    assert all(len(found.members[node]) == 1 for node in found.edge_nodes)
    assert found.members["ib"] == ("ib1", "ib2", "ib3")


def test_a_complete_graph_is_one_node() -> None:
    found = with_recognised_attributes(overlay(nx.relabel_nodes(nx.complete_graph(4), str)))
    assert {broker.attributes["node"] for broker in found.brokers} == {"0"}
