"""The journey of one publication in one variant: where it arrived, how long it waited in queues, whom it reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.judging.journeys.paths import NO_ARRIVAL, Paths
from analysis.judging.journeys.router_work import Arrival, Comparison
from analysis.judging.judged import Receipt
from analysis.judging.trace import Step, StepKind
from analysis.reading.event_table import KINDS, NOBODY, Events, EventTable
from analysis.reading.publication_events import UNKNOWN, Published
from record.log import Event

_NONE: NDArray[np.int64] = np.empty(0, dtype=np.int64)


class Drop(NamedTuple):
    """A copy of a publication ended at a broker."""

    time: int
    broker: str
    neighbour: str | None
    """The broker for which it was; None of a copy for none in particular."""
    reason: str


class Visit(msgspec.Struct, frozen=True, order=True):
    """The first arrival of a publication at a broker."""

    time: int
    broker: str
    hops: int
    """Links travelled."""


class Journey(msgspec.Struct, kw_only=True, gc=False):
    """Everything logged of one publication in one variant."""

    publication: str = ""
    variant: int = 0
    published: Published | None = None
    """The publishing, by the first client to publish it."""
    rejected: bool = False
    accepted: bool = False
    """Acknowledged by its broker."""
    refused: bool = False
    compared: int = 0
    """The number of brokers that compared its content with subscriptions."""
    matched_last: int = 0
    """The last time its content was compared with subscriptions; 0 when it never was. Of a publication outside of the
    log's sample it is the last time it was known to have waited, because a comparison may have followed."""
    reached: Sequence[str] = ()
    """The brokers it arrived at, in the order of links travelled."""
    arrived: NDArray[np.int64] = _NONE
    travelled: NDArray[np.int64] = _NONE
    """For each of these arrivals: the time, and the links travelled."""
    receipts: Mapping[str, list[Receipt]] = {}
    """The publication's notifications by client, in order of time."""
    dropped: Sequence[Drop] = ()
    seen_last: int = 0
    """The time of its last record."""
    number: int = 0
    """In its bucket."""
    logged: bool = True
    """False where brokers logged a sample of publications without it."""


class Journeys:
    """The journeys of all publications of a bucket."""

    def __init__(self, table: EventTable, longest: Sequence[int]) -> None:
        """`longest` is the number of brokers up to which a path is held, by variant."""
        events = table.events
        arrivals = events.of(Event.RECEIVED)
        arrivals = arrivals.take(
            np.lexsort((arrivals.neighbour, arrivals.broker, arrivals.time, arrivals.hops, arrivals.journey))
        )
        notified = events.of(Event.NOTIFIED)
        notified = notified.take(
            np.lexsort(
                (notified.hops, notified.broker, notified.position, notified.time, notified.client, notified.journey)
            )
        )
        self._table = table
        self.arrivals = arrivals
        self.notified = notified
        """In the order of journey, client and time."""
        self._matched = events.of(Event.MATCHED)
        self._sent = events.of(Event.SENT)
        self.paths = Paths(
            arrivals, self._sent, table.names, np.array([longest[variant] for _, variant in table.journeys], np.int64)
        )
        self.led = self.paths.of(notified)
        """The arrival that led to each notification; `NO_ARRIVAL` where the log does not hold its path."""
        self._receipts = _receipts(notified, self.led, self.paths, table.names)
        self._clients = [table.names[client] for client in notified.client.tolist()]
        self._arrived_from, self._matched_from, self._notified_from = (
            self._starts(found) for found in (arrivals, self._matched, notified)
        )
        self._reached = [table.names[broker] for broker in arrivals.broker.tolist()]
        self._drops = self._dropped(events.of(Event.DROPPED))
        self.measured = bool((arrivals.duration > 0).any() or (self._matched.duration > 0).any())
        """True when some work of a router took time."""

    def __iter__(self) -> Iterator[Journey]:
        """All journeys; those of one publication follow each other."""
        events, table = self._table.events, self._table
        accepted, rejected, refused = (self._any(event) for event in (Event.CONFIRMED, Event.REJECTED, Event.REFUSED))
        silent = np.isin(events.kind, [KINDS[Event.REJECTED], KINDS[Event.REFUSED], KINDS[Event.DELIVERED]])
        seen_last = self._latest(events.take(~silent))
        matched_last = self._latest(events.take(np.isin(events.kind, [KINDS[Event.MATCHED], KINDS[Event.WAITED]])))
        compared = self._compared()
        for number, (publication, variant) in enumerate(table.journeys):
            publishings = table.published[number]
            begin, end = self._arrived_from[number], self._arrived_from[number + 1]
            yield Journey(
                publication=publication,
                variant=variant,
                published=first_published(publishings),
                rejected=rejected[number],
                accepted=accepted[number],
                refused=refused[number],
                compared=compared[number],
                matched_last=matched_last[number],
                reached=tuple(self._reached[begin:end]),
                arrived=self.arrivals.time[begin:end],
                travelled=self.arrivals.hops[begin:end],
                receipts=self._received(number),
                dropped=self._drops.get(number, ()),
                seen_last=max([seen_last[number], *[publishing.time for publishing in publishings]]),
                number=number,
            )

    def longest_paths(self, journey: Journey) -> list[tuple[str, ...]]:
        """The paths that the publication took and that are not the beginning of another one."""
        begin, end = self._arrived_from[journey.number], self._arrived_from[journey.number + 1]
        return sorted(self.paths.brokers(arrival) for arrival in self.paths.ends(begin, end))

    def steps(self, journey: Journey) -> list[Step]:
        """The records of the publication's copies, in order of time."""
        names, number = self._table.names, journey.number
        arrivals, sent = self.arrivals, self._sent
        begin, end = self._arrived_from[number], self._arrived_from[number + 1]
        steps = [
            Step(StepKind.ARRIVED, time, names[broker], None if source == NOBODY else names[source])
            for time, broker, source in zip(
                arrivals.time[begin:end].tolist(),
                arrivals.broker[begin:end].tolist(),
                arrivals.neighbour[begin:end].tolist(),
                strict=True,
            )
        ]
        begin, end = np.searchsorted(sent.journey, (number, number + 1)).tolist()
        steps += [
            Step(StepKind.SENT, time, names[broker], names[target])
            for time, broker, target in zip(
                sent.time[begin:end].tolist(),
                sent.broker[begin:end].tolist(),
                sent.neighbour[begin:end].tolist(),
                strict=True,
            )
        ]
        steps += [
            Step(StepKind.DROPPED, drop.time, drop.broker, drop.neighbour, drop.reason) for drop in journey.dropped
        ]
        return sorted(steps, key=attrgetter("time", "kind"))

    def first_visits(self, journey: Journey) -> list[Visit]:
        """The first arrival of the publication at each broker, in order of time."""
        begin, end = self._arrived_from[journey.number], self._arrived_from[journey.number + 1]
        arrivals = zip(
            self.arrivals.time[begin:end].tolist(),
            journey.reached,
            self.arrivals.hops[begin:end].tolist(),
            strict=True,
        )
        first: dict[str, Visit] = {}
        for visit in sorted(Visit(*facts) for facts in arrivals):
            first.setdefault(visit.broker, visit)
        return list(first.values())

    def work(self, journey: Journey) -> tuple[list[Arrival], list[Comparison]]:
        """The arrivals of the publication and the comparisons of its content, each with the router's work."""
        begin, end = self._arrived_from[journey.number], self._arrived_from[journey.number + 1]
        arrivals = self.arrivals
        worked = zip(
            journey.reached, arrivals.time[begin:end].tolist(), arrivals.duration[begin:end].tolist(), strict=True
        )
        begin, end = self._matched_from[journey.number], self._matched_from[journey.number + 1]
        matched = self._matched
        compared = zip(
            [self._table.names[broker] for broker in matched.broker[begin:end].tolist()],
            matched.time[begin:end].tolist(),
            matched.duration[begin:end].tolist(),
            strict=True,
        )
        return [Arrival(*facts) for facts in worked], [Comparison(*facts) for facts in compared]

    def _received(self, number: int) -> dict[str, list[Receipt]]:
        receipts: dict[str, list[Receipt]] = {}
        for place in range(self._notified_from[number], self._notified_from[number + 1]):
            receipts.setdefault(self._clients[place], []).append(self._receipts[place])
        return receipts

    def _starts(self, events: Events) -> list[int]:
        """The place of the first event of each journey, and the number of events."""
        starts: list[int] = np.searchsorted(events.journey, np.arange(len(self._table.journeys) + 1)).tolist()
        return starts

    def _any(self, event: Event) -> list[bool]:
        """True for the journeys with an event of this kind."""
        found = np.zeros(len(self._table.journeys), dtype=np.bool_)
        found[self._table.events.of(event).journey] = True
        flags: list[bool] = found.tolist()
        return flags

    def _latest(self, events: Events) -> list[int]:
        """The time of the last of these events in each journey; 0 where there is none."""
        latest = np.zeros(len(self._table.journeys), dtype=np.int64)
        np.maximum.at(latest, events.journey, events.time)
        times: list[int] = latest.tolist()
        return times

    def _compared(self) -> list[int]:
        """The number of brokers that compared the content of each publication."""
        names = len(self._table.names)
        places = np.unique(self._matched.journey * names + self._matched.broker)
        counts: list[int] = np.bincount(places // max(names, 1), minlength=len(self._table.journeys)).tolist()
        return counts

    def _dropped(self, dropped: Events) -> dict[int, list[Drop]]:
        drops: dict[int, list[Drop]] = {}
        places = (self._table.places[place] for place in dropped.place.tolist())
        for journey, time, place in zip(dropped.journey.tolist(), dropped.time.tolist(), places, strict=True):
            drops.setdefault(journey, []).append(Drop(time, place.broker or "", place.neighbour, place.reason or ""))
        return drops


def arrival(journey: Journey, broker: str | None) -> list[Step]:
    """The arrival of a publication at a broker; where it did not come there, the last one at any."""
    if not journey.reached:
        return []
    arrivals = list(zip(journey.arrived.tolist(), journey.reached, strict=True))
    time, at = min((one for one in arrivals if one[1] == broker), default=max(arrivals))
    return [Step(StepKind.ARRIVED, time, at)]


def _receipts(notified: Events, arrivals: NDArray[np.int64], paths: Paths, names: Sequence[str]) -> list[Receipt]:
    """The receipt of each notification, given the arrival that led to it."""
    known = arrivals != NO_ARRIVAL
    hops, waited = notified.hops.copy(), np.full(len(notified), UNKNOWN)
    unstated = known & (hops == UNKNOWN)
    hops[unstated] = paths.hops[arrivals[unstated]]
    waited[known] = paths.waited[arrivals[known]]
    return [
        Receipt(
            None if broker == NOBODY else names[broker],
            time,
            position,
            None if links == UNKNOWN else links,
            None if wait == UNKNOWN else wait,
            None if arrival == NO_ARRIVAL else paths.brokers(arrival),
        )
        for broker, time, position, links, wait, arrival in zip(
            notified.broker.tolist(),
            notified.time.tolist(),
            notified.position.tolist(),
            hops.tolist(),
            waited.tolist(),
            arrivals.tolist(),
            strict=True,
        )
    ]


def first_published(publishings: Sequence[Published]) -> Published | None:
    """The first publishing, by the first client of those that made it at the same time."""
    if len(publishings) == 1:  # as nearly always
        return publishings[0]
    return min(publishings, key=lambda published: (published.time, published.client or ""), default=None)
