"""Redundant routing trees: nodes of one or several brokers that form a tree (Gryphon, section 2).

1. Every broker is in one node, which its attribute `node` names; one without the attribute is a node of its own.
2. The brokers of a node are linked to each other, and to all brokers of neighbouring nodes.
3. Nodes and the edges between them form a tree.

The paper also has edge nodes hold a single broker each; a broker with clients in any other node stands for a leaf of
its own there.

`recognised_nodes` finds nodes in a graph that names none: brokers are in one node if they have the same closed
neighbourhood (their neighbours and themselves). Every tree is a redundant tree by that, and every complete graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import networkx as nx

from topology.link_properties import BrokerId, OverlayError
from topology.model import Broker, Overlay

NODE = "node"


@dataclass(frozen=True)
class RedundantTree:
    """An overlay's nodes. Made by `redundant_tree_of`, which checks the rules."""

    overlay: Overlay
    members: Mapping[str, tuple[BrokerId, ...]]
    """Brokers of each node, in the overlay's order."""
    edges: tuple[tuple[str, str], ...]
    """Neighbouring nodes, each pair once."""

    @cached_property
    def edge_nodes(self) -> tuple[str, ...]:
        """Nodes with at most one neighbouring node."""
        degrees = dict.fromkeys(self.members, 0)
        for pair in self.edges:
            for node in pair:
                degrees[node] += 1
        return tuple(node for node, degree in degrees.items() if degree <= 1)


def redundant_tree_of(overlay: Overlay) -> RedundantTree:
    """The nodes of an overlay. Raises `OverlayError`, which names the rule that the overlay breaks."""
    node_of = {broker.id: str(broker.attributes.get(NODE, broker.id)) for broker in overlay.brokers}
    graph = overlay.to_networkx()
    members: dict[str, list[BrokerId]] = {}
    for broker, node in node_of.items():
        members.setdefault(node, []).append(broker)
    quotient: nx.Graph[str] = nx.Graph()
    quotient.add_nodes_from(members)
    quotient.add_edges_from((node_of[a], node_of[b]) for a, b in graph.edges if node_of[a] != node_of[b])
    if not nx.is_tree(quotient):
        raise OverlayError("nodes and the links between them do not form a tree")
    for a, b in _needed(members, quotient.edges):
        if not graph.has_edge(a, b):
            raise OverlayError(f"brokers {a} and {b} are of one node or of neighbouring nodes, and are not linked")
    return RedundantTree(overlay, {node: tuple(each) for node, each in members.items()}, tuple(quotient.edges))


def recognised_nodes(overlay: Overlay) -> Mapping[BrokerId, str] | None:
    """The node of each broker, named after its first broker; None when the links are not those of a redundant tree."""
    graph = overlay.to_networkx()
    names: dict[frozenset[BrokerId], str] = {}
    nodes = {broker: names.setdefault(frozenset((broker, *graph[broker])), broker) for broker in graph}
    try:
        redundant_tree_of(with_nodes(overlay, nodes))
    except OverlayError:
        return None
    return nodes


def node_members(overlay: Overlay) -> Mapping[str, tuple[BrokerId, ...]] | None:
    """Brokers of each node, by the attribute, or by the links where no broker has it; None without a redundant tree."""
    try:
        if not any(NODE in broker.attributes for broker in overlay.brokers):
            nodes = recognised_nodes(overlay)
            return None if nodes is None else redundant_tree_of(with_nodes(overlay, nodes)).members
        return redundant_tree_of(overlay).members
    except OverlayError:
        return None


def with_nodes(overlay: Overlay, nodes: Mapping[BrokerId, str]) -> Overlay:
    """The overlay with these nodes as attributes."""
    brokers = (Broker(broker.id, {**broker.attributes, NODE: nodes[broker.id]}) for broker in overlay.brokers)
    return Overlay(overlay.name, tuple(brokers), overlay.links)


def _needed(
    members: Mapping[str, list[BrokerId]], edges: Iterable[tuple[str, str]]
) -> Iterable[tuple[BrokerId, BrokerId]]:
    """The links that a redundant tree has."""
    for brokers in members.values():
        yield from combinations(brokers, 2)
    for a, b in edges:
        yield from product(members[a], members[b])
