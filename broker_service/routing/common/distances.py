"""Distances between servers, and the one order of all pairs by which every multicast tree is computed.

MEDYM takes latency as the cost of communication (section 4.1). Where the two directions of a pair differ, its distance
is their mean. Equal distances are ordered by the servers' numbers, so that no two pairs are equally close. A set of
servers then has exactly one minimum spanning tree, which all servers compute alike; without that, a server could pass
on to its sender what the sender expects from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_SERVERS = 1 << 16
"""Servers whose numbers fit into two bytes of a message."""

Servers = NDArray[np.uint16]
"""Numbers of servers, each once."""


class Distances:
    """Distances between servers that are numbered from 0."""

    def __init__(self, distances: NDArray[np.floating[Any]]) -> None:
        """`distances` has a row and a column for each server, in any unit; the diagonal is ignored.

        Raises `ValueError` for a matrix that is not square or too large, and for a distance below 0 or unknown.
        """
        count = len(distances)
        if distances.shape != (count, count) or not 0 < count <= MOST_SERVERS:
            raise ValueError(f"distances need as many rows as columns, from 1 to {MOST_SERVERS:,}")
        values = (distances + distances.T) / 2
        np.fill_diagonal(values, 0.0)
        if not (np.isfinite(values).all() and (distances[~np.eye(count, dtype=bool)] >= 0).all()):
            raise ValueError("every distance must be a number from 0")
        values.setflags(write=False)
        self.values = values
        """Distance of each pair, symmetric."""
        self.ranks = ranked(values)
        """Place of each pair among all pairs, as `ranked` gives it."""

    def __len__(self) -> int:
        return len(self.values)


def ranked(values: NDArray[np.floating[Any]]) -> NDArray[np.uint32]:
    """The place of each pair among all pairs in order of these symmetric distances, from 1; 0 on the diagonal."""
    lower, higher = np.triu_indices(len(values), 1)
    places = np.empty(len(lower), np.uint32)
    places[np.argsort(values[lower, higher], kind="stable")] = np.arange(1, len(lower) + 1, dtype=np.uint32)
    ranks = np.zeros(values.shape, np.uint32)
    ranks[lower, higher] = ranks[higher, lower] = places
    ranks.setflags(write=False)
    return ranks
