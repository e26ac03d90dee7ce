"""All publications that a detector keeps, whatever composite subscriptions they match."""

from __future__ import annotations

import heapq

from broker_service.detection.matches import Arrival, Key


class KeptArrivals:
    """Publications by their keys, each once, and those with the oldest stamps first.

    The order by stamps is made when a bound is reached for the first time, because a detector that reaches none has no
    use for it, and it costs as much as a search.
    """

    def __init__(self) -> None:
        self.bytes = 0
        """Bytes of their contents."""
        self._arrivals: dict[Key, Arrival] = {}
        self._oldest: list[Key] = []
        """A heap, with keys of publications that are not kept any more among the others; empty while not needed."""

    def __len__(self) -> int:
        return len(self._arrivals)

    def get(self, key: Key) -> Arrival | None:
        return self._arrivals.get(key)

    def add(self, arrival: Arrival) -> None:
        """Adds a publication that is not kept yet."""
        self._arrivals[arrival.key] = arrival
        self.bytes += len(arrival.body)
        if self._oldest:
            heapq.heappush(self._oldest, arrival.key)

    def remove(self, arrival: Arrival) -> None:
        del self._arrivals[arrival.key]
        self.bytes -= len(arrival.body)
        if len(self._oldest) > 2 * len(self._arrivals):
            self._oldest = []

    def oldest(self) -> Arrival:
        """The publication with the oldest stamp. Raises `IndexError` where none is kept."""
        if not self._oldest:
            self._oldest = sorted(self._arrivals)
        while (arrival := self._arrivals.get(self._oldest[0])) is None:
            heapq.heappop(self._oldest)
        return arrival
