"""What became of one publication in one variant: where it arrived, how long it waited on the way, whom it reached.

A notification's way is exact, not estimated. Each arrival of a publication at a broker is logged with the neighbour it
came from and the links travelled; the way to an arrival is the way to the arrival at that neighbour, one link shorter,
plus the wait in that neighbour's output queue. Taken in the order of links travelled, one pass over a publication's
arrivals gives every way. A publication may arrive twice at a broker that dynamic routing reaches over two paths: the
two are told apart by links travelled, then by time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from analysis.reading.publication_events import Arrived, Compared, Dropped, Left, Notified, Published, Refused, Sighting

_UNKNOWN_HOPS = -1


@dataclass(frozen=True, slots=True)
class Way:
    """How a publication came to a broker."""

    broker: str
    hops: int | None
    time: int
    waited: int | None
    """In output queues on the way, in all; null where the log does not say."""
    path: tuple[str, ...]
    """The brokers, the publisher's first."""


@dataclass(slots=True)
class Journey:
    """All that was logged of one publication in one variant."""

    published: Published | None = None
    """By the client that was first to do so."""
    rejected: bool = False
    compared: list[Compared] = field(default_factory=list)
    arrivals: list[Arrived] = field(default_factory=list)
    """By links travelled, then by time."""
    notified: list[Notified] = field(default_factory=list)
    """By client, then by time."""
    dropped: list[Dropped] = field(default_factory=list)
    seen_last: int = 0
    """When anything was last logged of it."""
    departures: dict[tuple[str, str | None], list[Left]] = field(default_factory=dict)
    """By broker and neighbour."""

    @classmethod
    def of(cls, sightings: Iterable[Sighting]) -> Journey:
        journey = cls()
        for one in sightings:
            journey._add(one)
        journey.arrivals.sort(key=_arrival_order)
        journey.notified.sort(key=lambda one: (one.client, one.time, one.place, one.broker or "", _hops(one.hops)))
        return journey

    def _add(self, one: Sighting) -> None:
        if isinstance(one, Arrived):
            self.arrivals.append(one)
        elif isinstance(one, Left):
            self.departures.setdefault((one.broker, one.neighbour), []).append(one)
        elif isinstance(one, Notified):
            self.notified.append(one)
        elif isinstance(one, Compared):
            self.compared.append(one)
        elif isinstance(one, Published):
            if self.published is None or (one.time, one.client or "") < (
                self.published.time,
                self.published.client or "",
            ):
                self.published = one
        elif isinstance(one, Refused):
            self.rejected = True
            return
        else:
            self.dropped.append(one)
        if one.time > self.seen_last:  # noqa: PLR1730 - for every message of every hop
            self.seen_last = one.time

    @property
    def compared_last(self) -> int:
        """When its content was last compared with subscriptions; 0: never."""
        return max((one.time for one in self.compared), default=0)

    @property
    def reached(self) -> tuple[str, ...]:
        """The brokers it arrived at, in the order of links travelled."""
        return tuple(arrival.broker for arrival in self.arrivals)

    def ways(self) -> list[Way]:
        """The way to each arrival that the log holds from its beginning, in the order of links travelled."""
        ways: list[Way] = []
        for arrival in self.arrivals:
            way = (
                _beginning(arrival)
                if arrival.neighbour is None
                else self._continuation(ways, arrival, arrival.neighbour)
            )
            if way is not None:
                ways.append(way)
        return ways

    def _continuation(self, ways: list[Way], arrival: Arrived, neighbour: str) -> Way | None:
        """From the neighbour: the last time it sent the publication here, and the last arrival there before that."""
        departures = self.departures.get((neighbour, arrival.broker), ())
        before = [one for one in departures if one.time <= arrival.time]
        if not before or arrival.hops is None:
            return None
        sent, hops_there = before[0] if len(before) == 1 else max(before, key=_departure_order), arrival.hops - 1
        for way in reversed(ways):
            if way.broker == neighbour and way.hops == hops_there and way.time <= sent.time:
                waited = None if way.waited is None or sent.waited is None else way.waited + sent.waited
                return Way(arrival.broker, arrival.hops, arrival.time, waited, (*way.path, arrival.broker))
        return None


def way_of(notified: Notified, ways: list[Way]) -> Way | None:
    """The last arrival at the client's broker before the notification, over as many links as it says."""
    for way in reversed(ways):
        fits = notified.hops is None or way.hops == notified.hops
        if fits and way.broker == notified.broker and way.time <= notified.time:
            return way
    return None


def _beginning(arrival: Arrived) -> Way:
    """The publisher's own broker."""
    return Way(arrival.broker, arrival.hops, arrival.time, 0, (arrival.broker,))


def _arrival_order(arrival: Arrived) -> tuple[int, int, str, str]:
    return _hops(arrival.hops), arrival.time, arrival.broker, arrival.neighbour or ""


def _departure_order(departure: Left) -> tuple[int, int]:
    return departure.time, -1 if departure.waited is None else departure.waited


def _hops(value: int | None) -> int:
    return _UNKNOWN_HOPS if value is None else value
