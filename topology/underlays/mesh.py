"""A mesh underlay: the delay of a message between any two brokers, whichever overlay is laid over it.

A mesh is a value, an N x N matrix of one-way delays. It may have gaps and contradictions, as measured matrices do:
`examine` reports them, and nothing here repairs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topology.link_properties import BrokerId, OverlayError
from topology.model import Broker, Delays, MeshLinks, Overlay, check_broker
from topology.paths import all_pairs, path_delays

ASYMMETRY = 0.01
"""Share of the longer delay by which the two directions of a pair may differ without being reported."""
TRIANGLE_TOLERANCE = 1e-9
"""Share of the direct delay by which a detour must be faster to count, because a smaller difference is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Brokers and the one-way delay from each to each. Raises `OverlayError` for what cannot be a delay."""

    name: str
    brokers: tuple[Broker, ...]
    delays: Delays
    """Seconds, from the row's broker to the column's; NaN where unknown, 0 on the diagonal. Read only."""
    _index: dict[BrokerId, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        index = {broker.id: number for number, broker in enumerate(self.brokers)}
        if not index or len(index) < len(self.brokers):
            raise OverlayError("a mesh needs at least one broker, and no name may occur twice")
        for broker in self.brokers:
            check_broker(broker)
        if self.delays.shape != (len(index), len(index)):
            raise OverlayError(f"a mesh of {len(index)} brokers needs as many rows and columns")
        bad = np.argwhere((self.delays < 0) | np.isinf(self.delays))
        if len(bad):
            row, column = bad[0]
            raise OverlayError(
                f"delay from {self.brokers[row].id} to {self.brokers[column].id}: "
                f"must be zero or more seconds, not {self.delays[row, column]:g}"
            )
        delays = self.delays.copy()
        np.fill_diagonal(delays, 0.0)
        delays.setflags(write=False)
        object.__setattr__(self, "delays", delays)
        object.__setattr__(self, "_index", index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mesh):
            return NotImplemented
        return self.brokers == other.brokers and np.array_equal(self.delays, other.delays, equal_nan=True)

    __hash__ = None  # type: ignore[assignment]  # a matrix has none

    def delay(self, a: BrokerId, b: BrokerId) -> float:
        """Seconds from a to b, NaN when unknown. Raises `KeyError` for brokers that are not in the mesh."""
        return float(self.delays[self._index[a], self._index[b]])

    def round_trips(self) -> Delays:
        """Seconds there and back, symmetric; infinite where a direction is unknown."""
        both = self.delays + self.delays.T
        return np.where(np.isnan(both), np.inf, both)

    def pairs(self, mask: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
        """The cells in which the mask is true, row by row."""
        return ((int(row), int(column)) for row, column in np.argwhere(mask))


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """A pair whose two directions differ. Delays in seconds."""

    a: BrokerId
    b: BrokerId
    forward: float
    backward: float


@dataclass(frozen=True, slots=True)
class TriangleViolation:
    """A pair that is faster by way of a third broker. Delays in seconds."""

    a: BrokerId
    b: BrokerId
    via: BrokerId
    direct: float
    detour: float


@dataclass(frozen=True, slots=True)
class Examination:
    """Oddities of a mesh. Missing cells and violations are counted by direction."""

    missing: tuple[tuple[BrokerId, BrokerId], ...]
    asymmetric: tuple[Asymmetry, ...]
    """Pairs whose latency differs by direction, the largest difference first."""
    violations: tuple[TriangleViolation, ...]
    """Violations of the triangle inequality, the greatest gain first."""


def examine(mesh: Mesh) -> Examination:
    """Missing cells, asymmetry and violations of the triangle inequality. Takes time cubic in the brokers."""
    ids = [broker.id for broker in mesh.brokers]
    missing = tuple((ids[row], ids[column]) for row, column in mesh.pairs(np.isnan(mesh.delays)))
    return Examination(missing, _asymmetric(mesh, ids), _violations(mesh, ids))


def mesh_of(overlay: Overlay) -> Mesh:
    """The delays of the fastest paths over an overlay's links, queueing and processing left out."""
    index = {broker.id: number for number, broker in enumerate(overlay.brokers)}
    if overlay.is_full_mesh:
        return Mesh(overlay.name, overlay.brokers, all_pairs(link_delays(overlay)))
    edges = [(index[link.a], index[link.b], link.forward.delay) for link in overlay.links]
    edges += [(index[link.b], index[link.a], link.backward.delay) for link in overlay.links]
    return Mesh(overlay.name, overlay.brokers, path_delays(len(index), edges, range(len(index))))


def link_delays(overlay: Overlay) -> Delays:
    """The delay of the link from each broker to each other, in seconds; infinite without a link, 0 on the diagonal."""
    if isinstance(overlay.links, MeshLinks):
        return overlay.links.delays()
    index = {broker.id: number for number, broker in enumerate(overlay.brokers)}
    delays = np.full((len(index), len(index)), np.inf)
    np.fill_diagonal(delays, 0.0)
    for link in overlay.links:
        a, b = index[link.a], index[link.b]
        delays[a, b], delays[b, a] = link.forward.delay, link.backward.delay
    return delays


def _asymmetric(mesh: Mesh, ids: list[BrokerId]) -> tuple[Asymmetry, ...]:
    there, back = mesh.delays, mesh.delays.T
    uneven = np.triu(np.abs(there - back) > ASYMMETRY * np.fmax(there, back))
    found = [Asymmetry(ids[a], ids[b], float(there[a, b]), float(there[b, a])) for a, b in mesh.pairs(uneven)]
    return tuple(sorted(found, key=lambda pair: -abs(pair.forward - pair.backward)))


def _violations(mesh: Mesh, ids: list[BrokerId]) -> tuple[TriangleViolation, ...]:
    known = np.where(np.isnan(mesh.delays), np.inf, mesh.delays)
    found = []
    for row, direct in enumerate(mesh.delays):
        detours = known[row][:, None] + known
        via = detours.argmin(axis=0)
        fastest = detours[via, np.arange(len(ids))]
        for column in np.flatnonzero(fastest < direct * (1 - TRIANGLE_TOLERANCE)):
            ends = ids[row], ids[column], ids[via[column]]
            found.append(TriangleViolation(*ends, float(direct[column]), float(fastest[column])))
    return tuple(sorted(found, key=lambda violation: violation.detour - violation.direct))
