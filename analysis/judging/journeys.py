"""The journey of one publication in one variant: where it arrived, how long it waited in queues, whom it reached.

The path of a notification is exact, not estimated. Each arrival of a publication at a broker is logged with the
neighbour it came from and the links travelled. The path to an arrival is the path to the arrival at that neighbour, one
link shorter, plus the wait in that neighbour's output queue. One pass over a publication's arrivals, in the order of
links travelled, gives every path. A publication may arrive twice at a broker that dynamic routing reaches over two
paths: the two arrivals are distinguished by links travelled, then by time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from analysis.reading.publication_events import (
    Accepted,
    Dropped,
    Matched,
    Notified,
    PublicationEvent,
    Published,
    Received,
    Refused,
    Rejected,
    Sent,
)

_UNKNOWN_HOPS = -1


class PathTaken(msgspec.Struct, frozen=True, gc=False):
    """The path on which a publication came to a broker."""

    broker: str
    hops: int | None
    time: int
    waited: int | None
    """In output queues along the path, in all; None where the log does not hold it."""
    brokers: tuple[str, ...]
    """The brokers on the path, the publisher's first."""


@dataclass(slots=True)
class Journey:
    """Everything logged of one publication in one variant."""

    published: Published | None = None
    """By the first client to publish it."""
    rejected: bool = False
    accepted: bool = False
    """Acknowledged by its broker."""
    refused: bool = False
    matched: list[Matched] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    """By links travelled, then by time."""
    notified: list[Notified] = field(default_factory=list)
    """By client, then by time."""
    dropped: list[Dropped] = field(default_factory=list)
    seen_last: int = 0
    """The time of its last record."""
    sent: dict[tuple[str, str | None], list[Sent]] = field(default_factory=dict)
    """By broker and neighbour."""

    @classmethod
    def of(cls, events: Iterable[PublicationEvent]) -> Journey:
        """The journey that these events describe, in any order."""
        journey = cls()
        seen_last = 0
        for event in events:
            if isinstance(event, Received):
                journey.received.append(event)
            elif isinstance(event, Sent):
                journey.sent.setdefault((event.broker, event.neighbour), []).append(event)
            elif isinstance(event, Notified):
                journey.notified.append(event)
            elif isinstance(event, Matched):
                journey.matched.append(event)
            elif isinstance(event, Rejected):
                journey.rejected = True
                continue
            elif isinstance(event, Refused):
                journey.refused = True
                continue
            else:
                journey._add_rare(event)
            seen_last = max(seen_last, event.time)
        journey.seen_last = seen_last
        journey.received.sort(key=_arrival_order)
        journey.notified.sort(key=_notification_order)
        return journey

    def _add_rare(self, event: Published | Accepted | Dropped) -> None:
        if isinstance(event, Published):
            if self.published is None or _publishing_order(event) < _publishing_order(self.published):
                self.published = event
        elif isinstance(event, Accepted):
            self.accepted = True
        else:
            self.dropped.append(event)

    @property
    def matched_last(self) -> int:
        """The last time its content was compared with subscriptions; 0 when it never was."""
        return max((event.time for event in self.matched), default=0)

    @property
    def reached(self) -> tuple[str, ...]:
        """The brokers it arrived at, in the order of links travelled."""
        return tuple(arrival.broker for arrival in self.received)

    def paths(self) -> list[PathTaken]:
        """The path to each arrival that the log holds from its beginning, in the order of links travelled."""
        paths: list[PathTaken] = []
        for arrival in self.received:
            path = _first(arrival) if arrival.neighbour is None else self._next(paths, arrival, arrival.neighbour)
            if path is not None:
                paths.append(path)
        return paths

    def _next(self, paths: list[PathTaken], arrival: Received, neighbour: str) -> PathTaken | None:
        """The path prolonged by the link from the neighbour: the last time that the neighbour sent the publication
        here, and the last arrival there before that."""
        before = [sent for sent in self.sent.get((neighbour, arrival.broker), ()) if sent.time <= arrival.time]
        if not before or arrival.hops is None:
            return None
        sent, hops_there = before[0] if len(before) == 1 else max(before, key=_departure_order), arrival.hops - 1
        for path in reversed(paths):
            if path.broker == neighbour and path.hops == hops_there and path.time <= sent.time:
                waited = None if path.waited is None or sent.waited is None else path.waited + sent.waited
                brokers = (*path.brokers, arrival.broker)
                return PathTaken(arrival.broker, arrival.hops, arrival.time, waited, brokers)
        return None


def path_of(notified: Notified, paths: list[PathTaken]) -> PathTaken | None:
    """The path of a notification: of the last arrival at the client's broker before it, over as many links as it
    states."""
    for path in reversed(paths):
        fits = notified.hops is None or path.hops == notified.hops
        if fits and path.broker == notified.broker and path.time <= notified.time:
            return path
    return None


def _first(arrival: Received) -> PathTaken:
    """The path to the publisher's own broker."""
    return PathTaken(arrival.broker, arrival.hops, arrival.time, 0, (arrival.broker,))


def _publishing_order(published: Published) -> tuple[int, str]:
    return published.time, published.client or ""


def _arrival_order(arrival: Received) -> tuple[int, int, str, str]:
    return _hops(arrival.hops), arrival.time, arrival.broker, arrival.neighbour or ""


def _notification_order(notified: Notified) -> tuple[str, int, int, str, int]:
    return notified.client, notified.time, notified.position, notified.broker or "", _hops(notified.hops)


def _departure_order(sent: Sent) -> tuple[int, int]:
    return sent.time, -1 if sent.waited is None else sent.waited


def _hops(value: int | None) -> int:
    return _UNKNOWN_HOPS if value is None else value
