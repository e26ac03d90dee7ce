"""Trees. A broker's attribute `level` is its distance from the root, which is B1."""

from __future__ import annotations

import random

import networkx as nx

from topology.link_properties import BrokerId
from topology.shapes.naming import at_least, numbered


def tree(brokers: int, branching: int = 2) -> nx.Graph[BrokerId]:
    """A balanced tree, filled level by level."""
    at_least(branching, 1, "a tree's branching", "child per broker")
    return levelled(numbered(nx.full_rary_tree(branching, at_least(brokers, 1, "a tree"))))


def random_tree(brokers: int, rng: random.Random) -> nx.Graph[BrokerId]:
    """A tree drawn uniformly from all labelled trees of this size."""
    return levelled(numbered(nx.random_labeled_tree(at_least(brokers, 1, "a tree"), seed=rng)))


def levelled(graph: nx.Graph[BrokerId]) -> nx.Graph[BrokerId]:
    """The graph itself, with each node's distance from the first one set as its attribute `level`."""
    nx.set_node_attributes(graph, dict(nx.single_source_shortest_path_length(graph, next(iter(graph)))), "level")
    return graph
