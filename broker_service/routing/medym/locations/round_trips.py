"""Servers' locations as every form of them serves the router, and the form that is round trips (section 4.2.2).

A server measures round trips to its neighbours, announces them, and learns those between others from their
announcements. Of a pair that both have measured, the mean counts. While the distance of a pair is unknown, it is taken
to be far apart: farther than any known pair, and farther still if this server is none of the two. So a server that
knows nothing of others yet sends to each destination directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from broker_service.messages import BrokerId
from broker_service.routing.common.distances import Distances
from broker_service.routing.interface import LinkStatus, MalformedMessageError
from broker_service.routing.medym.mesh import Mesh

_NOTABLE = 0.1
"""Relative change of a round trip that is worth an announcement."""
_FAR, _FARTHER = 2.0, 4.0
"""Distances of unknown pairs with this server and without it, in multiples of the longest known one."""
LONGEST = 1e6
"""Seconds. No server may announce a longer round trip."""
NUMBER = np.dtype("<f4")
"""A round trip or a coordinate in an announcement."""


class KnownLocations(Protocol):
    """The locations of all servers, as one server knows them. `announced` of one is for `learn` of the others."""

    def unmeasured(self, links: Mapping[BrokerId, LinkStatus]) -> Iterator[BrokerId]:
        """Neighbours over links that have to carry a message, so that their round trips are measured."""

    def measure(self, links: Mapping[BrokerId, LinkStatus]) -> bool:
        """Reads the round trips of this server's links. True when others should learn of this server's location."""

    def announced(self) -> bytes:
        """This server's location."""

    def check(self, server: int, location: bytes) -> None:
        """Raises `MalformedMessageError` for a location that a correct server would not announce."""

    def learn(self, server: int, location: bytes) -> bool:
        """Takes another server's location, which `check` permits. True when distances are others than before."""

    @property
    def distances(self) -> Distances:
        """Distances of all pairs of servers, with assumptions for those that are unknown."""


def measured(links: Mapping[BrokerId, LinkStatus], servers: Sequence[BrokerId]) -> NDArray[np.float32]:
    """The round trips of the links to some servers, NaN where unknown."""
    trips = np.full(len(servers), np.nan, np.float32)
    for number, server in enumerate(servers):
        link = links.get(server)
        if link is not None and link.round_trip is not None:
            trips[number] = link.round_trip
    return trips


def differs(now: NDArray[np.float32], before: NDArray[np.float32]) -> NDArray[np.bool_]:
    """True for each round trip that is known and differs notably from the former one."""
    differing: NDArray[np.bool_] = ~np.isnan(now) & ~(np.abs(now - before) <= _NOTABLE * before)
    return differing


def with_assumptions(pairs: NDArray[np.float32], own: int) -> NDArray[np.float32]:
    """Distances of all pairs, assumed where they are NaN, as the server with the number `own` assumes them."""
    unknown = np.isnan(pairs)
    longest = max(1e-6, float(np.max(pairs, initial=0.0, where=~unknown)))
    assumed = np.full_like(pairs, _FARTHER * longest)
    assumed[own, :] = assumed[:, own] = _FAR * longest
    return np.where(unknown, assumed, pairs)


_KEPT: Final = 1024
"""Locations that are checked once for all servers of a process, which read the same copy of an announcement."""


class RoundTripLocations:
    """Round trips, which servers measure and announce, or which are given to all of them: `KnownLocations`."""

    def __init__(self, mesh: Mesh, own: int) -> None:
        """`own` is this server's number."""
        count = len(mesh.servers)
        self._servers = mesh.servers
        self._own = own
        self._round_trips = np.full((0, 0) if mesh.given else (count, count), np.nan, np.float32)
        """Round trips that servers announced, in a row for each server. Not used where distances are given."""
        self._distances = mesh.given

    def unmeasured(self, links: Mapping[BrokerId, LinkStatus]) -> Iterator[BrokerId]:
        """No neighbour: a message over each link would open all links of a large mesh."""
        return iter(())

    def measure(self, links: Mapping[BrokerId, LinkStatus]) -> bool:
        """Reads the round trips of this server's links. True when they have changed so that others should know."""
        if not len(self._round_trips):
            return False
        now, known = measured(links, self._servers), self._round_trips[self._own]
        changed = differs(now, known)
        if not changed.any():
            return False
        self._round_trips[self._own] = np.where(changed, now, known)
        self._distances = None
        return True

    def announced(self) -> bytes:
        """This server's round trips, as they are announced."""
        return self._round_trips[self._own].astype(NUMBER, copy=False).tobytes() if len(self._round_trips) else b""

    def check(self, server: int, location: bytes) -> None:
        """Raises `MalformedMessageError` for anything but a round trip from 0, or none, for each server."""
        if len(location) != NUMBER.itemsize * len(self._round_trips):
            raise MalformedMessageError(f"{len(location)} bytes of round trips")
        if location and not _are_times(location):
            raise MalformedMessageError("round trips that are no times")

    def learn(self, server: int, location: bytes) -> bool:
        """Takes another server's round trips, which `check` permits. True when they are others than before."""
        if not location:
            return False
        row = np.frombuffer(location, NUMBER)
        if np.array_equal(row, self._round_trips[server], equal_nan=True):
            return False
        self._round_trips[server] = row
        self._distances = None
        return True

    @property
    def distances(self) -> Distances:
        """Distances of all pairs of servers, with assumptions for those that are unknown."""
        if self._distances is None:
            there, back = self._round_trips, self._round_trips.T
            pairs = np.where(np.isnan(there), back, np.where(np.isnan(back), there, (there + back) / 2))
            self._distances = Distances(with_assumptions(pairs, self._own))
        return self._distances


@lru_cache(maxsize=_KEPT)
def _are_times(location: bytes) -> bool:
    """True for round trips from 0 to `LONGEST`, or unknown ones."""
    row = np.frombuffer(location, NUMBER)
    return not ((row < 0) | (row > LONGEST)).any()
