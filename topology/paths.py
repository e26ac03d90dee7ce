"""Fastest paths and lengths of paths through large graphs, many times as fast as those of NetworkX.

SciPy's take a third as long, but importing it costs every command more time than all but the largest graphs save.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from topology.link_properties import BrokerId

Edge = tuple[int, int, float]
"""A directed edge: from, to, delay."""

_TOGETHER: Final = 128
"""Sources from which paths are found together, such that the delays along 10,000 edges fit a processor's cache."""


@dataclass(frozen=True, slots=True)
class PathTree:
    """The fastest paths from one node to all others, which form a tree."""

    parents: Sequence[int]
    """The node before each node on its path; -1 at the root and without a path."""
    edges: Sequence[int]
    """The number of the last edge on each node's path; -1 at the root and without a path."""

    def path_to(self, node: int) -> tuple[int, ...]:
        """The numbers of the edges on the path to a node, in order from the root."""
        path = []
        while (edge := self.edges[node]) >= 0:
            path.append(edge)
            node = self.parents[node]
        return tuple(reversed(path))

    def paths_to(self, nodes: Iterable[int]) -> set[int]:
        """The numbers of the edges on the paths to some nodes, each once."""
        crossed: set[int] = set()
        for end in nodes:
            node = end
            while (edge := self.edges[node]) >= 0 and edge not in crossed:
                crossed.add(edge)
                node = self.parents[node]
        return crossed


class DirectedGraph:
    """Edges between numbered nodes, as columns in the order of their heads."""

    def __init__(self, nodes: int, edges: Sequence[Edge]) -> None:
        """Edges have the numbers of their places. No delay is negative."""
        tails, heads = (np.array([edge[end] for edge in edges], np.intp) for end in (0, 1))
        self._nodes = nodes
        self._numbers = np.argsort(heads, kind="stable")
        self._tails, self._heads = tails[self._numbers], heads[self._numbers]
        self._delays = np.array([edge[2] for edge in edges], np.float64)[self._numbers]

    def delays_from(self, sources: Sequence[int]) -> NDArray[np.float64]:
        """The delay of the fastest path from each source (a row) to each node (a column), infinite without a path."""
        fastest = np.full((self._nodes, len(sources)), np.inf)
        fastest[np.array(sources, np.intp), np.arange(len(sources))] = 0.0
        for first in range(0, len(sources), _TOGETHER):
            together = np.ascontiguousarray(fastest[:, first : first + _TOGETHER])
            self._relax(together)
            fastest[:, first : first + _TOGETHER] = together
        return np.ascontiguousarray(fastest.T)

    def tree(self, source: int, delays: NDArray[np.float64]) -> PathTree:
        """The fastest paths from a source, given the delays of these paths.

        Where an edge takes no time beside the path that it prolongs, the delays do not tell which of its ends comes
        first, and the tree is found anew.
        """
        before, after = delays[self._tails], delays[self._heads]
        last = np.flatnonzero((before + self._delays == after) & np.isfinite(after) & (self._heads != source))
        if (before[last] == after[last]).any():
            return self._dijkstra(source)
        parents, edges = np.full(self._nodes, -1, np.intp), np.full(self._nodes, -1, np.intp)
        parents[self._heads[last]], edges[self._heads[last]] = self._tails[last], self._numbers[last]
        return PathTree(parents.tolist(), edges.tolist())

    def _relax(self, fastest: NDArray[np.float64]) -> None:
        """Improves the delays from some sources to each node (a row), until no edge improves any.

        Bellman and Ford's method with all edges from improved nodes at a time. As in Dijkstra's, the delay of a path is
        the sum from its source on, and both find the least such sum: they give the same bits.
        """
        improved = np.asarray(np.isfinite(fastest).any(axis=1))
        while len(chosen := np.flatnonzero(improved[self._tails])):
            heads = self._heads[chosen]
            begins = np.flatnonzero(np.diff(heads, prepend=-1))
            through = fastest[self._tails[chosen]] + self._delays[chosen, None]
            reached, best = heads[begins], np.minimum.reduceat(through, begins, axis=0)
            former = fastest[reached]
            improved[:] = False
            improved[reached] = (best < former).any(axis=1)
            fastest[reached] = np.minimum(best, former)

    def _dijkstra(self, source: int) -> PathTree:
        following: list[list[tuple[int, float, int]]] = [[] for _ in range(self._nodes)]
        for tail, *edge in zip(
            self._tails.tolist(), self._heads.tolist(), self._delays.tolist(), self._numbers.tolist(), strict=True
        ):
            following[tail].append(tuple(edge))
        best, parents, edges = [math.inf] * self._nodes, [-1] * self._nodes, [-1] * self._nodes
        best[source] = 0.0
        waiting = [(0.0, source)]
        while waiting:
            so_far, node = heapq.heappop(waiting)
            if so_far > best[node]:
                continue
            for head, delay, number in following[node]:
                if so_far + delay < best[head]:
                    best[head] = so_far + delay
                    parents[head], edges[head] = node, number
                    heapq.heappush(waiting, (best[head], head))
        return PathTree(parents, edges)


def path_delays(nodes: int, edges: Iterable[Edge], sources: Sequence[int]) -> NDArray[np.float64]:
    """The delay of the fastest path from each source (a row) to each node (a column), infinite without a path."""
    return DirectedGraph(nodes, list(edges)).delays_from(sources)


def all_pairs(delays: NDArray[np.float64]) -> NDArray[np.float64]:
    """The delays of the fastest paths between all nodes, from those of the edges, which are infinite without one.

    Floyd and Warshall's method, for graphs in which most nodes are adjacent: 1000 nodes take seconds.
    """
    fastest = delays.copy()
    for via in range(len(fastest)):
        np.minimum(fastest, fastest[:, via, None] + fastest[via], out=fastest)
    return fastest


@dataclass(frozen=True, slots=True)
class HopCounts:
    """Lengths of the shortest paths between all pairs of brokers, in links."""

    diameter: int
    mean: float
    """Mean over all pairs of two brokers; 0 for a single broker."""


def hop_counts(graph: nx.Graph[BrokerId]) -> HopCounts:
    """Hop counts of a connected graph. The brokers within a number of hops are a set of bits for each broker."""
    index = {node: number for number, node in enumerate(graph)}
    neighbours = [[index[other] for other in graph[node]] for node in graph]
    reached = [1 << number for number in range(len(index))]
    brokers, hops, pairs, total = len(index), 0, len(index), 0
    while pairs < brokers * brokers:
        hops += 1
        reached = [
            _united(own, [reached[other] for other in around]) for own, around in zip(reached, neighbours, strict=True)
        ]
        now = sum(bits.bit_count() for bits in reached)
        if now == pairs:
            raise ValueError("the graph is disconnected")
        total += hops * (now - pairs)
        pairs = now
    return HopCounts(hops, total / (brokers * (brokers - 1)) if brokers > 1 else 0.0)


def _united(own: int, others: list[int]) -> int:
    for bits in others:
        own |= bits
    return own
