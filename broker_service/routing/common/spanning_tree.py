"""Minimum spanning trees over the distances between servers."""

from __future__ import annotations

from typing import Final

import numpy as np

from broker_service.routing.common.distances import Distances, Servers

_FEW: Final = 50
"""Servers besides the root up to which a tree is computed in lists."""


def spanning_tree(distances: Distances, server: int, destinations: Servers) -> list[tuple[int, int]]:
    """Edges of the minimum spanning tree of a server and destinations, from parent to child as seen from the server.

    Parents come before their children. This is Prim's algorithm; the servers that still wait are kept together at the
    front of the arrays, because each step then takes as long as there are such servers.
    """
    if len(destinations) <= _FEW:
        return _spanning_tree_of_few(distances, server, destinations)
    ranks = distances.ranks
    waiting = destinations.astype(np.intp)
    closest = ranks[server].take(waiting)
    parents = np.full(len(waiting), server)
    edges: list[tuple[int, int]] = []
    for last in range(len(waiting) - 1, -1, -1):
        place = int(closest[: last + 1].argmin())
        joined = int(waiting[place])
        edges.append((int(parents[place]), joined))
        waiting[place], closest[place], parents[place] = waiting[last], closest[last], parents[last]
        from_joined = ranks[joined].take(waiting[:last])
        np.putmask(parents[:last], from_joined < closest[:last], joined)
        np.minimum(closest[:last], from_joined, out=closest[:last])
    return edges


def _spanning_tree_of_few(distances: Distances, server: int, destinations: Servers) -> list[tuple[int, int]]:
    """A variant of `spanning_tree` for few destinations, in lists, because calls of NumPy would take longer than so
    short a computation."""
    members = np.append(destinations, np.uint16(server))
    numbers = members.tolist()
    rows = distances.ranks[members[:, None], members].tolist()
    own = len(destinations)
    closest, parents = rows[own], [own] * own
    waiting = list(range(own))
    edges = []
    while waiting:
        joined = min(waiting, key=closest.__getitem__)
        waiting.remove(joined)
        edges.append((numbers[parents[joined]], numbers[joined]))
        row = rows[joined]
        for other in waiting:
            if row[other] < closest[other]:
                closest[other], parents[other] = row[other], joined
    return edges
