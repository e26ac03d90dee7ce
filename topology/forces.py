"""A force-directed layout: brokers push each other apart, links pull. (Fruchterman and Reingold, 1991)

NetworkX has the same one, but needs SciPy for graphs from 500 nodes on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_STEPS = 200
"""The layout has settled by then."""
_STEPS_LEAST = 50
_SMALL = 500
"""Nodes up to which all steps are taken; a larger layout takes fewer, because each costs the square of the nodes."""
_NEAREST = 0.01
"""Nodes nearer than this push as if they were so far apart."""


def settled(begin: NDArray[np.float64], links: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Positions (a row of x and y for each node) after the forces have acted on the positions to begin with."""
    nodes = len(begin)
    steps = _STEPS if nodes <= _SMALL else max(_STEPS_LEAST, _STEPS * _SMALL**2 // nodes**2)
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    extent = float(np.ptp(begin, axis=0).max())
    spacing = extent / 2 / np.sqrt(nodes)
    positions = begin.copy()
    for step in range(steps):
        moves = _pushes(positions, spacing) + _pulls(positions, ends, spacing)
        lengths = np.maximum(np.linalg.norm(moves, axis=1), _NEAREST)
        furthest = 0.1 * extent * (1 - step / (steps + 1))
        positions += moves * (furthest / lengths)[:, None]
    return positions


def _pushes(positions: NDArray[np.float64], spacing: float) -> NDArray[np.float64]:
    """The sum over all other nodes of spacing^2 / distance, away from each."""
    squares = np.einsum("ij,ij->i", positions, positions)
    distances = squares[:, None] + squares[None, :] - 2 * positions @ positions.T
    weights = spacing**2 / np.maximum(distances, _NEAREST**2)
    pushes: NDArray[np.float64] = positions * weights.sum(axis=1)[:, None] - weights @ positions
    return pushes


def _pulls(positions: NDArray[np.float64], ends: NDArray[np.int64], spacing: float) -> NDArray[np.float64]:
    """The sum over all links of distance^2 / spacing, towards the other end."""
    along = positions[ends[:, 1]] - positions[ends[:, 0]]
    pulls = along * (np.maximum(np.linalg.norm(along, axis=1), _NEAREST) / spacing)[:, None]
    total = np.zeros_like(positions)
    np.add.at(total, ends[:, 0], pulls)
    np.subtract.at(total, ends[:, 1], pulls)
    return total
