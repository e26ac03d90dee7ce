"""Kinds of topology built from a tree: SCOT and redundant trees."""

from __future__ import annotations

import random
from typing import Literal

import networkx as nx
from pydantic import model_validator

from scenario.sections.section import BrokerName, Count
from scenario.sections.topology.kind import check_total
from scenario.sections.topology.shaped import Shaped
from topology import shapes
from topology.link_properties import BrokerId
from topology.model import MOST_LINKS

TreeKind = Literal["line", "star", "tree", "random-tree"]
TreeLinks = tuple[tuple[BrokerName, BrokerName], ...]


def tree_size(tree: TreeKind | TreeLinks, size: int | None, what: str, field: str) -> int:
    """Number of nodes of a tree, which a kind needs and listed links imply. Raises `ValueError`."""
    if isinstance(tree, str) and size is None:
        raise ValueError(f"{what} of kind {tree!r} needs `{field}`, its number of nodes")
    if not isinstance(tree, str) and size is not None:
        raise ValueError(f"leave `{field}` out: the links of {what} determine it")
    return size if size is not None else len(tree) + 1


def tree_graph(tree: TreeKind | TreeLinks, size: int | None, rng: random.Random) -> nx.Graph[BrokerId]:
    """A tree of nodes A, B, ..., or of the links listed. Raises `OverlayError`."""
    nodes = size or 1
    match tree:
        case "line":
            return shapes.lettered(shapes.line(nodes))
        case "star":
            return shapes.lettered(shapes.star(nodes))
        case "tree":
            return shapes.lettered(shapes.tree(nodes))
        case "random-tree":
            return shapes.lettered(shapes.random_tree(nodes, rng))
        case links:
            return shapes.explicit(links)


class ScotTopology(Shaped):
    """A structured cyclic overlay topology (OctopiA): a tree times a full mesh."""

    kind: Literal["scot"]
    acyclic: TreeKind | TreeLinks = "random-tree"
    """The acyclic factor: its kind, or its links such as `[[A, B], [B, C]]`."""
    regions: Count | None = None
    """Number of nodes of the acyclic factor; required unless its links are listed."""
    clusters: Count
    """Number of nodes of the complete factor, which is the number of brokers in each region."""

    @model_validator(mode="after")
    def _has_a_bounded_size(self) -> ScotTopology:
        brokers = tree_size(self.acyclic, self.regions, "an acyclic factor", "regions") * self.clusters
        check_total(brokers)
        check_total(brokers * (self.clusters + 1) // 2, MOST_LINKS, "links")
        return self

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.scot(tree_graph(self.acyclic, self.regions, rng), self.clusters)


class RedundantTreeTopology(Shaped):
    """A redundant routing tree (Gryphon): inner nodes of a tree hold several brokers, its root and leaves one."""

    kind: Literal["redundant-tree"]
    tree: TreeKind | TreeLinks = "tree"
    """The tree of nodes: its kind, or its links such as `[[A, B], [B, C]]`; the node named first is the root."""
    nodes: Count | None = None
    """Number of nodes of the tree; required unless its links are listed."""
    replicas: Count = 2
    """Number of brokers in each inner node, all linked to each other and to all brokers of neighbouring nodes."""

    @model_validator(mode="after")
    def _has_a_bounded_size(self) -> RedundantTreeTopology:
        brokers = tree_size(self.tree, self.nodes, "a tree", "nodes") * self.replicas
        check_total(brokers)
        check_total(brokers * self.replicas * 3 // 2, MOST_LINKS, "links")
        return self

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.redundant_tree(tree_graph(self.tree, self.nodes, rng), self.replicas)
