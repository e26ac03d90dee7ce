"""Minimum spanning trees, for every protocol and for overlays that are such a tree."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_FEW: Final = 75
"""Nodes besides the root up to which a tree is computed in lists."""


def spanning_tree(weights: NDArray[Any], root: int, others: NDArray[Any]) -> list[tuple[int, int]]:
    """Edges of the minimum spanning tree of a root and other nodes, from parent to child as seen from the root.

    `weights` is symmetric, with a row and a column for each node. Parents come before their children. Of nodes that are
    equally close to the tree the first in `others` joins, through the node that joined first. An edge of infinite
    weight is taken only when no finite one is left, so all nodes that it and later edges add are out of reach of the
    root. This is Prim's algorithm; the nodes that still wait are kept together, in order, because each step then takes
    as long as there are such nodes. SciPy's takes ten times as long for 1000 nodes and would grow the brokers' image.
    """
    if 0 < len(others) <= _FEW:
        return _spanning_tree_of_few(weights, root, others)
    waiting = others.astype(np.intp)
    closest = weights[root].take(waiting)
    parents = np.full(len(waiting), root)
    edges: list[tuple[int, int]] = []
    for _ in others:
        place = int(closest.argmin())
        joined = waiting.item(place)
        edges.append((parents.item(place), joined))
        waiting[place:-1], closest[place:-1], parents[place:-1] = (
            waiting[place + 1 :],
            closest[place + 1 :],
            parents[place + 1 :],
        )
        waiting, closest, parents = waiting[:-1], closest[:-1], parents[:-1]
        from_joined = weights[joined].take(waiting)
        np.putmask(parents, from_joined < closest, joined)
        np.minimum(closest, from_joined, out=closest)
    return edges


def _spanning_tree_of_few(weights: NDArray[Any], root: int, others: NDArray[Any]) -> list[tuple[int, int]]:
    """A variant of `spanning_tree` for few nodes, in lists, because calls of NumPy would take longer than so short a
    computation."""
    own = len(others)
    members = np.empty(own + 1, np.intp)
    members[:own], members[own] = others, root
    numbers, rows = members.tolist(), weights[members[:, None], members].tolist()
    closest, parents = rows[own], [own] * own
    waiting = list(range(own))
    joined = min(waiting, key=closest.__getitem__)
    edges = []
    while True:
        edges.append((numbers[parents[joined]], numbers[joined]))
        waiting.remove(joined)
        if not waiting:
            return edges
        latest, row = joined, rows[joined]
        joined = waiting[0]
        least = closest[joined]
        for other in waiting:  # one pass both updates them and finds the closest
            weight = closest[other]
            if row[other] < weight:
                closest[other] = weight = row[other]
                parents[other] = latest
            if weight < least:
                joined, least = other, weight
