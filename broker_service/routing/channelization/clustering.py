"""Clustering of cells into channels whose servers want much the same, by Forgy's K-means.

MEDYM (section 5.1.3) uses "Forgy K-means" as Riabov et al. (ICDCS 2002) do, and gives neither distance nor start. Here:

- The *waste* of a channel is the expected number of servers that get an event of it and do not want it: the sum over
  its cells `e` of `p(e) #(s(G) - s(e))`, where `s(e)` are the servers that want `e`, `s(G)` those that want any cell of
  the channel, and `p` the expected shares of events.
- The *distance* from a cell to a channel is the waste that the cell adds: `p(e) #(s(G) - s(e)) + p(G) #(s(e) - s(G))`.
- Forgy's passes begin with a random partition into channels of equal size and move all cells at once to their nearest
  channels. They tend to end with one channel that takes everything, so the pass with the least waste counts.
- From there, one cell at a time moves to its nearest channel, judged against the channel without that cell, until none
  moves. Each move lowers the waste, so this ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PASSES = 20
"""Passes of Forgy's algorithm."""
MOST_ROUNDS = 100
"""Rounds over all cells, one at a time."""

Wanted = NDArray[np.bool_]
"""A row for each cell, a column for each server."""
Channels = NDArray[np.intp]
"""The channel of each cell."""


class Clustering(NamedTuple):
    """Channels, and what was done for them."""

    channels: Channels
    waste: float
    """Expected servers that get an event and do not want it, if events fall on cells in proportion to weights."""
    rounds: int
    """Rounds over all cells after Forgy's passes."""


def cluster(wanted: Wanted, weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> Clustering:
    """Clusters cells into at most `count` channels."""
    count = min(count, len(wanted))
    channels = _forgy(wanted, weights, count, rng)
    rounds = _refine(wanted, weights, channels, count)
    return Clustering(channels, waste(wanted, weights, channels), rounds)


def waste(wanted: Wanted, weights: NDArray[np.float64], channels: Channels) -> float:
    """Expected servers in vain, by the definition of the module."""
    unions = _wanting(wanted.astype(np.float32), channels, int(channels.max(initial=0)) + 1) > 0
    return _waste(unions, wanted, weights, channels)


def _waste(unions: NDArray[np.bool_], wanted: Wanted, weights: NDArray[np.float64], channels: Channels) -> float:
    """The waste, given the servers of each channel."""
    vain = unions.sum(axis=1)[channels] - wanted.sum(axis=1)
    return float(weights @ vain / max(weights.sum(), 1e-300))


def _forgy(wanted: Wanted, weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> Channels:
    channels = rng.permutation(len(wanted)) % count
    sizes, cells = wanted.sum(axis=1), wanted.astype(np.float32)
    unions = _wanting(cells, channels, count) > 0
    best, least = channels, _waste(unions, wanted, weights, channels)
    for _ in range(PASSES):
        common = cells @ unions.T.astype(np.float32)
        shares = np.bincount(channels, weights, count)
        added = weights[:, None] * (unions.sum(axis=1) - common) + shares * (sizes[:, None] - common)
        channels = added.argmin(axis=1)
        unions = _wanting(cells, channels, count) > 0
        reached = _waste(unions, wanted, weights, channels)
        if reached < least:
            best, least = channels, reached
    return best.copy()


def _refine(wanted: Wanted, weights: NDArray[np.float64], channels: Channels, count: int) -> int:
    """Moves single cells in place. Returns the number of rounds."""
    wanting = _wanting(wanted.astype(np.float32), channels, count).astype(np.int32)
    sizes = (wanting > 0).sum(axis=1)
    shares = np.bincount(channels, weights, count).astype(np.float64)
    # A cell that nobody wants and that has no events adds nothing to any channel.
    cells = np.flatnonzero(wanted.any(axis=1) | (weights > 0)).tolist()
    servers_of = {cell: np.flatnonzero(wanted[cell]) for cell in cells}
    for done in range(MOST_ROUNDS):
        moved = False
        for cell in cells:
            servers, weight, former = servers_of[cell], weights[cell], channels[cell]
            wanting[former, servers] -= 1
            common = (wanting[:, servers] > 0).sum(axis=1)
            sizes[former] -= len(servers) - common[former]
            shares[former] -= weight
            added = weight * (sizes - common) + shares * (len(servers) - common)
            nearest = _nearest(added, former)
            moved |= nearest != former
            channels[cell] = nearest
            wanting[nearest, servers] += 1
            sizes[nearest] += len(servers) - common[nearest]
            shares[nearest] += weight
        if not moved:
            return done + 1
    return MOST_ROUNDS


def _nearest(added: NDArray[np.float64], former: int) -> int:
    """The channel to which a cell adds the least waste; the former one unless another is truly better."""
    nearest = int(added.argmin())
    return nearest if added[nearest] < added[former] * (1 - 1e-12) else former


def _wanting(cells: NDArray[np.float32], channels: Channels, count: int) -> NDArray[np.float32]:
    """Cells of each channel (a row) that each server (a column) wants: a product of matrices, which NumPy does best.

    `cells` holds 1 where a server wants a cell, and else 0.
    """
    members = (channels == np.arange(count)[:, None]).astype(np.float32)
    wanting: NDArray[np.float32] = members @ cells
    return wanting
