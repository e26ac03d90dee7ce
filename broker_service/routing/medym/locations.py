"""Servers' locations: how far each is from every other, as each measures it and announces it (section 4.2.2).

A server measures round trips to its neighbours, and learns those between others from their announcements. Of a pair
that both have measured, the mean counts. While a pair is unknown, it is taken to be far apart: farther than any known
pair, and farther still if this server is none of the two. So a server that knows nothing of others yet sends to each
destination directly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from broker_service.errors import MalformedMessageError
from broker_service.messages import BrokerId
from broker_service.routing.common.distances import Distances
from broker_service.routing.interface import LinkStatus
from broker_service.routing.medym.mesh import Mesh

_NOTABLE = 0.1
"""Relative change of a round trip that is worth an announcement."""
_FAR, _FARTHER = 2.0, 4.0
"""Distances of unknown pairs with this server and without it, in multiples of the longest known one."""
_LONGEST = 1e6
"""Seconds. No server may announce a longer round trip."""
_ROUND_TRIP = np.dtype("<f4")


class Locations:
    """The distances between all servers, as this server knows them."""

    def __init__(self, mesh: Mesh, own: int) -> None:
        """`own` is this server's number."""
        count = len(mesh.servers)
        self._servers = mesh.servers
        self._own = own
        self._round_trips = np.full((0, 0) if mesh.given else (count, count), np.nan, np.float32)
        """Announced ones; a row for each server. Not used where distances are given."""
        self._distances = mesh.given

    def measure(self, links: Mapping[BrokerId, LinkStatus]) -> bool:
        """Reads the round trips of this server's links. True when they have changed so that others should know."""
        if not len(self._round_trips):
            return False
        measured = np.array([_round_trip(links.get(server)) for server in self._servers], np.float32)
        known = self._round_trips[self._own]
        changed = ~np.isnan(measured) & ~(np.abs(measured - known) <= _NOTABLE * known)
        if not changed.any():
            return False
        self._round_trips[self._own] = np.where(changed, measured, known)
        self._distances = None
        return True

    def announced(self) -> bytes:
        """This server's round trips, as they are announced."""
        return self._round_trips[self._own].astype(_ROUND_TRIP, copy=False).tobytes() if len(self._round_trips) else b""

    def check(self, round_trips: bytes) -> None:
        """Raises `MalformedMessageError` for anything but a round trip from 0, or none, for each server."""
        if len(round_trips) != _ROUND_TRIP.itemsize * len(self._round_trips):
            raise MalformedMessageError(f"{len(round_trips)} bytes of round trips")
        row = np.frombuffer(round_trips, _ROUND_TRIP)
        if ((row < 0) | (row > _LONGEST)).any():
            raise MalformedMessageError("round trips that are no times")

    def learn(self, server: int, round_trips: bytes) -> bool:
        """Takes another server's round trips, which `check` permits. True when they are others than before."""
        row = np.frombuffer(round_trips, _ROUND_TRIP)
        if not len(row) or np.array_equal(row, self._round_trips[server], equal_nan=True):
            return False
        self._round_trips[server] = row
        self._distances = None
        return True

    @property
    def distances(self) -> Distances:
        """Of all pairs, with assumptions for those that are unknown."""
        if self._distances is None:
            self._distances = Distances(self._assumed())
        return self._distances

    def _assumed(self) -> NDArray[np.float32]:
        there, back = self._round_trips, self._round_trips.T
        pairs = np.where(np.isnan(there), back, np.where(np.isnan(back), there, (there + back) / 2))
        unknown = np.isnan(pairs)
        longest = max(1e-6, float(np.max(pairs, initial=0.0, where=~unknown)))
        assumed = np.full_like(pairs, _FARTHER * longest)
        assumed[self._own, :] = assumed[:, self._own] = _FAR * longest
        return np.where(unknown, assumed, pairs)


def _round_trip(link: LinkStatus | None) -> float:
    return np.nan if link is None or link.round_trip is None else link.round_trip
