"""Layouts of trees and of nearly tree-like graphs.

NetworkX's layered layouts keep the order in which nodes are given, so that links cross which need not.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from statistics import fmean
from typing import TypeVar

import networkx as nx

from topology.link_properties import BrokerId

Node = TypeVar("Node", bound=Hashable)


def layered(graph: nx.Graph[BrokerId], levels: Mapping[BrokerId, float]) -> dict[BrokerId, tuple[float, float]]:
    """A row for each level, the least on top; within a row, nodes have the order of their neighbours above."""
    positions: dict[BrokerId, tuple[float, float]] = {}
    for level in sorted(set(levels.values())):
        members = [node for node in graph if levels[node] == level]
        above = {node: [positions[other][0] for other in graph[node] if other in positions] for node in members}
        row = sorted(members, key={node: fmean(xs or [0.5]) for node, xs in above.items()}.__getitem__)
        for place, node in enumerate(row):
            positions[node] = (place + 0.5) / len(row), -level
    return positions


def spine(tree: nx.Graph[Node]) -> dict[Node, tuple[float, float]]:
    """A column for each node of a tree, and its distance from the tree's longest path.

    The path runs from one side to the other; a branch is placed to the right of its start, so that no two links cross.
    """
    path = _longest_path(tree)
    positions: dict[Node, tuple[float, float]] = {}
    on_path = set(path)
    for start in path:
        waiting: list[tuple[Node, int]] = [(start, 0)]
        while waiting:
            node, depth = waiting.pop()
            positions[node] = float(len(positions)), float(depth)
            further = [other for other in tree[node] if other not in positions and other not in on_path]
            waiting.extend((other, depth + 1) for other in reversed(further))
    return positions


def _longest_path(tree: nx.Graph[Node]) -> list[Node]:
    """The longest path, from the end that comes first among the tree's nodes."""
    order = {node: place for place, node in enumerate(tree)}
    end = _farthest(tree, next(iter(tree)))
    other = _farthest(tree, end)
    begin, last = sorted((end, other), key=order.__getitem__)
    return list(nx.shortest_path(tree, begin, last))


def _farthest(tree: nx.Graph[Node], start: Node) -> Node:
    distances: dict[Node, int] = dict(nx.single_source_shortest_path_length(tree, start))
    return max(distances, key=distances.__getitem__)
