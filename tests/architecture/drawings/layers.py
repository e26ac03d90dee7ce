"""Positions for the vertices of a layered graph, so that few arrows cross and most are nearly vertical.

The method is that of Sugiyama, Tagawa and Toda (1981) with given layers. An arrow that passes layers gets an invisible
vertex in each; barycentres of neighbours order every layer; then each layer takes the positions closest to those of its
neighbours that keep this order and the gaps (isotonic regression).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import networkx as nx

GAP = 16.0
"""Least distance between two boxes of a layer, pixels."""
_SWEEPS = 40
_WEIGHT_OF_UNCONNECTED = 0.01
"""Weight of a room without arrows when positions are weighed against one another; others have that of their arrows."""

Vertex = tuple[str, ...]
"""A room as `(name,)`, or a point on an arrow as `(from, to, layer)`."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Horizontal centres of the rooms, and for each arrow the centres at which it passes layers, from top to bottom."""

    centres: Mapping[str, float]
    bends: Mapping[tuple[str, str], list[tuple[int, float]]]
    """Layer and centre of every invisible vertex of an arrow."""
    width: float


def place(layers: Sequence[Sequence[str]], arrows: Sequence[tuple[str, str]], widths: Mapping[str, float]) -> Placed:
    """Places rooms of these widths. Layers are given from the ground up; arrows point from higher to lower ones."""
    rows: list[list[Vertex]] = [[(room,) for room in layer] for layer in layers]
    level = {room: number for number, layer in enumerate(layers) for room in layer}
    graph: nx.Graph[Vertex] = nx.Graph()
    graph.add_nodes_from(vertex for row in rows for vertex in row)
    bends: dict[tuple[str, str], list[Vertex]] = {}
    for high, low in arrows:
        passed: list[Vertex] = [(high, low, str(number)) for number in range(level[high] - 1, level[low], -1)]
        for vertex in passed:
            rows[int(vertex[2])].append(vertex)
        nx.add_path(graph, [(high,), *passed, (low,)])
        bends[high, low] = passed
    width = {vertex: widths[vertex[0]] if len(vertex) == 1 else 2.0 for row in rows for vertex in row}
    _order(rows, graph)
    centres = _align(rows, graph, width)
    left = min(centres[vertex] - width[vertex] / 2 for vertex in width)
    right = max(centres[vertex] + width[vertex] / 2 for vertex in width)
    return Placed(
        {vertex[0]: centres[vertex] - left for vertex in width if len(vertex) == 1},
        {arrow: [(int(v[2]), centres[v] - left) for v in passed] for arrow, passed in bends.items()},
        right - left,
    )


def _order(rows: list[list[Vertex]], graph: nx.Graph[Vertex]) -> None:
    """Orders every row by the barycentres of its neighbours in the row swept before, and keeps the best order found."""
    best, fewest = [list(row) for row in rows], _crossings(rows, graph)
    for sweep in range(_SWEEPS):
        up = sweep % 2 == 0
        for number in range(1, len(rows)) if up else range(len(rows) - 2, -1, -1):
            rows[number] = _by_barycentre(rows[number], rows[number - 1 if up else number + 1], graph)
        if (crossings := _crossings(rows, graph)) < fewest:
            best, fewest = [list(row) for row in rows], crossings
    rows[:] = best


def _by_barycentre(row: Sequence[Vertex], fixed: Sequence[Vertex], graph: nx.Graph[Vertex]) -> list[Vertex]:
    """A row in the order of its neighbours' mean places in a fixed row; a vertex without neighbours keeps its place."""
    place_of = {vertex: (index + 0.5) / len(fixed) for index, vertex in enumerate(fixed)}
    key = {}
    for index, vertex in enumerate(row):
        neighbours = [place_of[other] for other in graph[vertex] if other in place_of]
        key[vertex] = fmean(neighbours) if neighbours else (index + 0.5) / len(row)
    return sorted(row, key=lambda vertex: (key[vertex], vertex))


def _crossings(rows: Sequence[Sequence[Vertex]], graph: nx.Graph[Vertex]) -> int:
    count = 0
    for lower, upper in pairwise(rows):
        index = {vertex: number for number, vertex in enumerate(lower)}
        ends = [sorted(index[other] for other in graph[vertex] if other in index) for vertex in upper]
        for number, left in enumerate(ends):
            count += sum(a > b for right in ends[number + 1 :] for a in left for b in right)
    return count


def _align(
    rows: Sequence[Sequence[Vertex]], graph: nx.Graph[Vertex], width: Mapping[Vertex, float]
) -> dict[Vertex, float]:
    centres: dict[Vertex, float] = {}
    for row in rows:
        total = sum(width[vertex] + GAP for vertex in row)
        x = -total / 2
        for vertex in row:
            centres[vertex] = x + (width[vertex] + GAP) / 2
            x += width[vertex] + GAP
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_mean_of_neighbours(vertex, row, graph, centres) for vertex in row]
            offsets = [0.0]
            for vertex, following in pairwise(row):
                offsets.append(offsets[-1] + (width[vertex] + width[following]) / 2 + GAP)
            weights = [len(graph[vertex]) or _WEIGHT_OF_UNCONNECTED for vertex in row]
            aligned = _isotonic([wish - offset for wish, offset in zip(wanted, offsets, strict=True)], weights)
            centres |= {v: value + offset for v, value, offset in zip(row, aligned, offsets, strict=True)}
    return centres


def _mean_of_neighbours(
    vertex: Vertex, row: Sequence[Vertex], graph: nx.Graph[Vertex], centres: Mapping[Vertex, float]
) -> float:
    """Mean centre of the other ends of a vertex's arrows; that of its row if it has none."""
    return fmean(centres[other] for other in (list(graph[vertex]) or row))


def _isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Ascending values closest to the given ones in the weighted sum of squares (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, heavy, size = value, weight, 1
        while pools and pools[-1][0] > mean:
            before, other, count = pools.pop()
            mean = (before * other + mean * heavy) / (other + heavy)
            heavy, size = other + heavy, count + size
        pools.append((mean, heavy, size))
    return [mean for mean, _, size in pools for _ in range(size)]
