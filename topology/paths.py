"""Lengths of paths through large graphs, all at once: in delays and in hops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from topology.model import BrokerId

_SOURCES_AT_ONCE = 64
"""So that what one step touches stays within the processor's cache."""


def path_delays(nodes: int, edges: Sequence[tuple[int, int, float]], sources: Sequence[int]) -> NDArray[np.float64]:
    """The delay of the fastest path from each source (a row) to each node (a column), infinite without a path.

    Edges are directed: from, to, delay. The method is Bellman's and Ford's for many sources together: a node's delay
    is the least over its predecessors, taken again until nothing changes.
    """
    # An edge of no delay from each node to itself, so that every node has a predecessor and keeps what it has.
    tail, head, delay = (
        np.array(column) for column in zip(*edges, *((node, node, 0.0) for node in range(nodes)), strict=True)
    )
    order = np.argsort(head, kind="stable")
    tail, delay = tail[order], delay[order]
    first = np.searchsorted(head[order], np.arange(nodes))
    blocks = [
        _relaxed(nodes, sources[begin : begin + _SOURCES_AT_ONCE], tail, delay, first)
        for begin in range(0, len(sources), _SOURCES_AT_ONCE)
    ]
    return np.concatenate(blocks)


def _relaxed(
    nodes: int,
    sources: Sequence[int],
    tail: NDArray[np.int64],
    delay: NDArray[np.float64],
    first: NDArray[np.int64],
) -> NDArray[np.float64]:
    # A row for each node: what a step gathers then lies together.
    best = np.full((nodes, len(sources)), np.inf)
    best[sources, np.arange(len(sources))] = 0.0
    while True:
        better = np.minimum.reduceat(best[tail] + delay[:, None], first, axis=0)
        if np.array_equal(better, best):
            return best.T
        best = better


@dataclass(frozen=True, slots=True)
class HopCounts:
    """Lengths of the shortest paths between all pairs of brokers, in links."""

    diameter: int
    mean: float
    """Over all pairs of two brokers; 0 when there is only one broker."""


def hop_counts(graph: nx.Graph[BrokerId]) -> HopCounts:
    """Of a connected graph. Whom each broker reaches in so many hops is kept as a set of bits."""
    index = {node: number for number, node in enumerate(graph)}
    neighbours = [[index[other] for other in graph[node]] for node in graph]
    reached = [1 << number for number in range(len(index))]
    everyone, hops, pairs, total = len(index), 0, len(index), 0
    while pairs < everyone * everyone:
        hops += 1
        reached = [
            _united(own, [reached[other] for other in around]) for own, around in zip(reached, neighbours, strict=True)
        ]
        now = sum(bits.bit_count() for bits in reached)
        if now == pairs:
            raise ValueError("the graph is disconnected")
        total += hops * (now - pairs)
        pairs = now
    return HopCounts(hops, total / (everyone * (everyone - 1)) if everyone > 1 else 0.0)


def _united(own: int, others: list[int]) -> int:
    for bits in others:
        own |= bits
    return own
