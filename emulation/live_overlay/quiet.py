"""Detection of quiet in an overlay of real brokers, from the status that they report.

Two looks in a row, the first complete before the second begins. At neither does a message wait or travel on any link
or an awaited timer of a router run, and between them no counter of any broker has moved. Then there is a moment between
the two at which nothing moved anywhere, and an overlay in which nothing moves stays so until a client, a fault or
another timer acts.

A message is in flight until the neighbour acknowledges it. Neighbours delay acknowledgements, so the neighbour's own
counter of handled messages counts as well. After a restart the two ends count from different beginnings, and
acknowledgements alone decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from broker_service.grpc_shell.status import BrokerStatus, LinkEndStatus
from broker_service.messages import BrokerId
from topology.link_properties import Link, LinkDirection

Statuses = Mapping[BrokerId, BrokerStatus]
_Ends = Mapping[tuple[BrokerId, BrokerId], LinkEndStatus]
"""States of link ends by broker and its neighbour."""


@dataclass
class ExpectedOverlay:
    """Brokers that should run and links that should be up."""

    links: list[Link]
    """Present links, of which at least one end is asked."""
    brokers: Sequence[BrokerId]
    """Brokers that are asked for their status. Links may lead to others, which run elsewhere."""
    down: set[BrokerId] = field(default_factory=set)
    cut: set[LinkDirection] = field(default_factory=set)

    @property
    def running(self) -> list[BrokerId]:
        """Brokers that should answer."""
        return [broker for broker in self.brokers if broker not in self.down]

    def works(self, link: Link) -> bool:
        """True when a link should be up."""
        direction = LinkDirection(link.a, link.b)
        return not ({direction, direction.reverse} & self.cut or {link.a, link.b} & self.down)


class QuietDetector:
    """Finds out, one look after another, that nothing moves in an overlay."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self.busy: list[BrokerId] = []
        """Brokers that did not answer at the latest look, had messages or awaited timers, or have moved."""
        self.obstacle = "no broker was asked yet"
        """The first reason why the overlay was not quiet at the latest look; empty when it was."""
        self._clock = clock
        self._counters: Mapping[BrokerId, tuple[int, ...]] = {}
        self._quiet_since: float | None = None

    @property
    def quiet_for(self) -> float:
        """Seconds since the first of the latest looks in a row that found the overlay quiet; 0 while it is not."""
        return 0.0 if self._quiet_since is None else self._clock() - self._quiet_since

    def look(self, statuses: Statuses, expected: ExpectedOverlay) -> bool:
        """Compares the latest statuses with those before. Returns whether the overlay was quiet between the two."""
        silent = [broker for broker in expected.running if broker not in statuses]
        waiting = dict(_waiting(statuses, expected))
        timed = {broker: status.awaited_timers for broker, status in statuses.items() if status.awaited_timers}
        held = {broker: status.held for broker, status in statuses.items() if status.held}
        counters = {broker: status.counters for broker, status in statuses.items()}
        moved = [broker for broker, count in counters.items() if self._counters.get(broker) != count]
        self._counters = counters
        self.busy = list(dict.fromkeys((*silent, *(broker for broker, _ in waiting), *timed, *held, *moved)))
        obstacles = (
            *(f"broker {broker} does not answer" for broker in silent),
            *link_obstacles(statuses, expected),
            *(
                f"{'1 message is' if count == 1 else f'{count} messages are'} in flight from {source} to {target}"
                for (source, target), count in waiting.items()
            ),
            *(f"broker {broker} awaits {count} of its router's timers" for broker, count in timed.items()),
            *(
                f"broker {broker} holds {'1 request' if count == 1 else f'{count} requests'} of clients back"
                for broker, count in held.items()
            ),
            *(f"broker {broker} still handles messages" for broker in moved),
        )
        self.obstacle = next(iter(obstacles), "")
        if self.obstacle:
            self._quiet_since = None
        elif self._quiet_since is None:
            self._quiet_since = self._clock()
        return not self.obstacle


def link_obstacles(statuses: Statuses, expected: ExpectedOverlay) -> Iterator[str]:
    """Links that are up and should not be, or the other way round, as far as brokers answered."""
    ends = _ends(statuses)
    for link in expected.links:
        works = expected.works(link)
        for broker, neighbour in link.directions:
            end = ends.get((broker, neighbour))
            if end is not None and end.up != works:
                yield f"the link of {broker} to {neighbour} is {'up' if end.up else 'down'}"


def too_slow(links: Iterable[Link], heartbeat: float) -> Iterator[str]:
    """The slowest link, if its round trip takes as long as the time between heartbeats, in seconds, or longer.

    Opening a stream takes three round trips, and a neighbour that is silent for three heartbeats is given up.
    """
    slowest = max(links, key=_round_trip, default=None)
    if slowest is not None and _round_trip(slowest) >= heartbeat:
        yield (
            f"the round trip between {slowest.a} and {slowest.b} takes {_round_trip(slowest):g} s and heartbeats follow"
            f" one another after {heartbeat:g} s, which is too early: raise brokers.limits.heartbeat"
        )


def _round_trip(link: Link) -> float:
    return link.forward.delay + link.backward.delay


def _waiting(statuses: Statuses, expected: ExpectedOverlay) -> Iterator[tuple[tuple[BrokerId, BrokerId], int]]:
    """Messages queued or in flight, by direction, on links that should work."""
    ends = _ends(statuses)
    working = [link for link in expected.links if expected.works(link)]
    for source, target in (pair for link in working for pair in link.directions):
        end = ends.get((source, target))
        if end is not None and (count := _unhandled(end, ends.get((target, source)))):
            yield (source, target), count


def _unhandled(end: LinkEndStatus, opposite: LinkEndStatus | None) -> int:
    if opposite is not None and not end.queued and end.sent == opposite.received:
        return 0
    return end.queued + end.in_flight


def _ends(statuses: Statuses) -> _Ends:
    return {(broker, link.neighbour): link for broker, status in statuses.items() for link in status.links}
