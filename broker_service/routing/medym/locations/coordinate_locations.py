"""Servers' locations as network coordinates (`coordinates`), announced in place of round trips (section 4.2.2).

1. The servers with the lowest numbers are the landmarks. Each one measures the round trips to all others and announces
   them; the first one computes the places of all landmarks from them, and announces these.
2. Every other server measures its round trips to the landmarks alone, computes its place, and announces that.
3. The distance of two servers is that of their places. A server without a place is taken to be far from all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from broker_service.messages import BrokerId
from broker_service.routing.common.distances import Distances
from broker_service.routing.interface import LinkStatus, MalformedMessageError
from broker_service.routing.medym.locations.coordinates import DIMENSIONS, LANDMARKS, landmark_places, place
from broker_service.routing.medym.locations.round_trips import LONGEST, NUMBER, differs, measured, with_assumptions
from broker_service.routing.medym.mesh import Mesh

_FIRST = 0
"""The landmark that computes the places of all landmarks."""


class CoordinateLocations:
    """The places of all servers, as this server knows them: `KnownLocations`."""

    def __init__(self, mesh: Mesh, own: int) -> None:
        """`own` is this server's number."""
        count = len(mesh.servers)
        self._own = own
        self._landmarks = mesh.servers[:LANDMARKS]
        self._rows = np.full((len(self._landmarks), len(self._landmarks)), np.nan, np.float32)
        """Round trips that landmarks have measured; used by the first one."""
        self._measured = np.full(len(self._landmarks), np.nan, np.float32)
        """This server's round trips to the landmarks."""
        self._places = np.full((count, DIMENSIONS), np.nan, np.float32)
        self._is_stale = False
        """True when what this server computes or announces no longer agrees with what it knows."""
        self._distances: Distances | None = None

    def unmeasured(self, links: Mapping[BrokerId, LinkStatus]) -> Iterator[BrokerId]:
        """Landmarks within reach over links that were not used yet."""
        for landmark in self._landmarks:
            link = links.get(landmark)
            if link is not None and link.up and link.round_trip is None:
                yield landmark

    def measure(self, links: Mapping[BrokerId, LinkStatus]) -> bool:
        """Reads the round trips of links. True when others should learn of another place, or of other round trips."""
        now = measured(links, self._landmarks)
        changed = differs(now, self._measured)
        if changed.any():
            self._measured[changed] = now[changed]
            self._is_stale = True
        if not self._is_stale:
            return False
        self._is_stale = False
        if self._own == _FIRST:
            self._rows[_FIRST] = self._measured
            return self._place_landmarks()
        return self._own < len(self._landmarks) or self._place_itself()

    def announced(self) -> bytes:
        """The places of all landmarks, the first one's announcement; a landmark's round trips; or a server's place."""
        if self._own == _FIRST:
            content = self._places[: len(self._landmarks)]
        elif self._own < len(self._landmarks):
            content = self._measured
        else:
            content = self._places[self._own]
        return content.astype(NUMBER, copy=False).tobytes()

    def check(self, server: int, location: bytes) -> None:
        """Raises `MalformedMessageError` for anything but what `announced` returns at a server."""
        numbers = DIMENSIONS
        if server < len(self._landmarks):
            numbers = len(self._landmarks) * (DIMENSIONS if server == _FIRST else 1)
        if len(location) != numbers * NUMBER.itemsize:
            raise MalformedMessageError(f"a location of {len(location)} bytes")
        if (np.abs(np.frombuffer(location, NUMBER)) > LONGEST).any():
            raise MalformedMessageError("a location that is out of reach")

    def learn(self, server: int, location: bytes) -> bool:
        """Takes another server's location, which `check` permits. True when distances are others than before."""
        content = np.frombuffer(location, NUMBER)
        if server == _FIRST:
            known = self._places[: len(self._landmarks)]
            content = content.reshape(known.shape)
            self._is_stale |= self._own >= len(self._landmarks)
        elif server < len(self._landmarks):
            self._rows[server] = content
            self._is_stale |= self._own == _FIRST
            return False
        else:
            known = self._places[server]
        if np.array_equal(known, content, equal_nan=True):
            return False
        known[:] = content
        self._distances = None
        return True

    @property
    def distances(self) -> Distances:
        """Distances of all pairs of servers, with assumptions for those that are unknown."""
        if self._distances is None:
            if np.isnan(self._places).any():
                self._distances = Distances(with_assumptions(_pairs(self._places), self._own))
            else:
                self._distances = _distances(self._places.tobytes())
        return self._distances

    def _place_landmarks(self) -> bool:
        """Computes the places of all landmarks, if all have announced their round trips."""
        off_diagonal = ~np.eye(len(self._rows), dtype=bool)
        if np.isnan(self._rows[off_diagonal]).any():
            return False
        trips = np.where(off_diagonal, self._rows, 0.0).astype(np.float64)
        self._places[: len(self._landmarks)] = landmark_places(trips)
        self._distances = None
        return True

    def _place_itself(self) -> bool:
        """Computes this server's place, if it has measured enough round trips to landmarks whose places are known."""
        places = self._places[: len(self._landmarks)]
        usable = ~np.isnan(self._measured) & ~np.isnan(places).any(axis=1)
        if usable.sum() <= DIMENSIONS:
            return False
        found = place(places[usable].astype(np.float64), self._measured[usable].astype(np.float64))
        self._places[self._own] = found
        self._distances = None
        return True


@lru_cache(maxsize=2)
def _distances(places: bytes) -> Distances:
    """Distances between places that are all known; servers of one process share them."""
    return Distances(_pairs(np.frombuffer(places, np.float32).reshape(-1, DIMENSIONS)))


def _pairs(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """Distances of all pairs of places, by products of matrices, which take less memory than differences."""
    exact = places.astype(np.float64)
    squares = (exact**2).sum(axis=1)
    pairs = squares[:, None] + squares - 2 * (exact @ exact.T)
    distances: NDArray[np.float32] = np.sqrt(np.maximum(pairs, 0.0)).astype(np.float32)
    np.fill_diagonal(distances, 0.0)
    return distances
