"""The journey of one publication as slices: from its publishing over brokers and links to each notification.

The slices on a way follow each other without a gap, so that their times add up to the delay of the notification:

1. waiting to be published (the publisher's session), and on its way to the publisher's broker,
2. at a broker, waiting for its turn, and handled until it is in the queue of the next,
3. in the queue of a link, and on the link,
4. at the last broker, the same as in 2, then on its way to the client.

A stretch of a way of which the log holds no records is a slice "not in the log". Work of routers has slices beside the
ways.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.trace.drawing import Drawing, Facts, Instant, Slice, Track
from analysis.trace.records import ByEvent
from analysis.trace.tracks import Tracks
from record.log import Event, TraceRecord

NOT_IN_THE_LOG = "not in the log"
_INSTANTS = (Event.DROPPED, Event.DISTURBED, Event.REJECTED, Event.REFUSED)


@dataclass(frozen=True, slots=True)
class Notified:
    """The end of a way."""

    client: str
    last: Slice


@dataclass(frozen=True, slots=True)
class DrawnJourney:
    """The drawn journey of one publication."""

    ends: Sequence[Notified]
    """The notifications of the publication, in order of time."""
    arrivals: Mapping[str, Sequence[TraceRecord]]
    """The publication's arrivals at each broker, in order of time."""
    last: Mapping[int, Slice | None]
    """The last slice of the way to each arrival, by its `id`."""

    def way_to(self, broker: str, time: int) -> Slice | None:
        """The last slice of its way to a broker until a time; None where the log has no such way."""
        arrival = _last_until(self.arrivals.get(broker, ()), time)
        return None if arrival is None else self.last[id(arrival)]


def draw_journey(publication: str, records: ByEvent, tracks: Tracks, drawing: Drawing) -> DrawnJourney:
    """Draws everything that the log holds of a publication."""
    return _Journey(publication, records, tracks, drawing).draw()


class _Journey:
    """Draws one publication."""

    def __init__(self, publication: str, records: ByEvent, tracks: Tracks, drawing: Drawing) -> None:
        self._publication = publication
        self._records = records
        self._tracks = tracks
        self._drawing = drawing
        self._published: Slice | None = None
        """The last slice before the publication's way to its broker."""
        self._begin: int | None = None
        """The time from which its way to the broker counts; None where no client published it."""
        self._arrivals: defaultdict[str, list[TraceRecord]] = defaultdict(list)
        """The arrivals at each broker, as far as they are drawn."""
        self._last: dict[int, Slice | None] = {}
        """The last slice of the way to each arrival, by its `id`."""
        self._departures: dict[tuple[str, str], list[TraceRecord]] = _by_link(records.get(Event.SENT, ()))
        self._sent: dict[int, Slice] = {}
        """The slice of each departure in its queue, by its `id`."""

    def draw(self) -> DrawnJourney:
        self._publishing()
        for arrival in self._records.get(Event.RECEIVED, ()):
            self._arrive(arrival)
        for departure in self._records.get(Event.SENT, ()):
            self._depart(departure)
        ends = [
            Notified(notified.client or "", self._notify(notified))
            for notified in self._records.get(Event.NOTIFIED, ())
        ]
        self._work()
        for event in _INSTANTS:
            for record in self._records.get(event, ()):
                track = self._tracks.node(record.node)
                self._drawing.instants.append(
                    Instant(track, record.time, f"{event.value} {self._publication}", _stated(record))
                )
        return DrawnJourney(ends, self._arrivals, self._last)

    def _slice(self, track: Track, begin: int, end: int, name: str, facts: Facts | None = None) -> Slice:
        return Slice(track, begin, max(begin, end), name, self._publication, facts or {})

    def _publishing(self) -> None:
        published = next(iter(self._records.get(Event.PUBLISH, ())), None)
        if published is None:
            return
        due = published.time if published.intended is None else min(published.intended, published.time)
        track = self._tracks.publisher(published.peer or "", published.client or published.node)
        waiting = self._slice(track, due, published.time, f"{self._publication} waits to be published")
        self._published = self._drawing.onward(waiting, None)
        self._begin = published.time

    def _arrive(self, arrival: TraceRecord) -> None:
        """Draws the way to a broker, and the wait for its turn there."""
        came = arrival.time if arrival.arrived is None else min(arrival.arrived, arrival.time)
        before = (self._from_client if arrival.peer is None else self._over_link)(arrival, came)
        came = came if before is None else max(came, before.end)
        track = self._tracks.turn(arrival.node)
        waiting = self._slice(track, came, arrival.time, f"{self._publication} waits for its turn")
        self._last[id(arrival)] = self._drawing.onward(waiting, before)
        self._arrivals[arrival.node].append(arrival)

    def _from_client(self, arrival: TraceRecord, came: int) -> Slice | None:
        if self._begin is None:
            return None
        track = self._tracks.publisher(arrival.node, arrival.client or "")
        until = min(max(came, self._begin), arrival.time)
        way = self._slice(track, self._begin, until, f"{self._publication} is published")
        return self._drawing.add(way, self._published)

    def _over_link(self, arrival: TraceRecord, came: int) -> Slice | None:
        departure = _last_until(self._departures.get((arrival.peer or "", arrival.node), ()), arrival.time)
        if departure is None:
            return self._not_in_the_log(self._tracks.link(arrival.peer or "", arrival.node), came)
        queued = self._depart(departure)
        until = min(max(came, departure.time), arrival.time)
        written = departure.time if departure.written is None else min(departure.written, until)
        track = self._tracks.link(departure.node, arrival.node)
        way = self._slice(track, departure.time, until, self._publication, _size(departure))
        way.inner = ((departure.time, written, "is sent"),) if written > departure.time else ()
        return self._drawing.add(way, queued)

    def _depart(self, departure: TraceRecord) -> Slice:
        """Draws the handling of a copy at a broker until it is in a queue, and its wait there."""
        drawn = self._sent.get(id(departure))
        if drawn is not None:
            return drawn
        entered = departure.time - (departure.duration or 0)
        cause = self._cause(departure.node, entered, departure.time, None)
        before = None
        if cause is not None:
            entered = max(entered, cause.time)
            track = self._tracks.handling(departure.node)
            handling = self._slice(track, cause.time, entered, f"{self._publication} to {departure.peer}")
            before = self._drawing.onward(handling, self._last[id(cause)])
        elif self._begin is not None and self._begin <= entered:
            before = self._not_in_the_log(self._tracks.handling(departure.node), entered)
        track = self._tracks.queue(departure.node, departure.peer or "")
        queued = self._slice(track, entered, departure.time, self._publication, _queue(departure))
        self._sent[id(departure)] = self._drawing.add(queued, before)
        return queued

    def _notify(self, notified: TraceRecord) -> Slice:
        """Draws the end of a way, from the last broker to a client."""
        broker, client = notified.peer or "", notified.client or ""
        track = self._tracks.client(broker, client)
        cause = self._cause(broker, notified.time, notified.time, notified.hops)
        name = f"{client} notified of {self._publication}"
        if cause is None:
            before = self._not_in_the_log(track, notified.time)
            left = notified.time
        else:
            left = self._delivered(cause, notified)
            handling = self._slice(self._tracks.handling(broker), cause.time, left, f"{self._publication} to {client}")
            before = self._drawing.onward(handling, self._last[id(cause)])
        return self._drawing.add(self._slice(track, left, notified.time, name, self._delay(notified)), before)

    def _delivered(self, arrival: TraceRecord, notified: TraceRecord) -> int:
        """The time at which a notification left the broker; that of the publication's turn where it is not known."""
        times = [
            record.time
            for record in self._records.get(Event.DELIVERED, ())
            if record.node == notified.peer
            and record.client == notified.client
            and arrival.time <= record.time <= notified.time
        ]
        return max(times, default=arrival.time)

    def _delay(self, notified: TraceRecord) -> Facts:
        published = next(iter(self._records.get(Event.PUBLISH, ())), None)
        if published is None:
            return {}
        due = published.time if published.intended is None else published.intended
        return {"delay in ns": notified.time - due}

    def _cause(self, broker: str, entered: int, left: int, hops: int | None) -> TraceRecord | None:
        """The arrival that led to a departure or a notification: the last one until it was in the queue, or at least
        until it left; of those that travelled as many links as are stated, if any did."""
        found = self._arrivals.get(broker, [])
        travelled = [arrival for arrival in found if arrival.hops == hops] if hops is not None else []
        found = travelled or found
        return _last_until(found, entered) or _last_until(found, left)

    def _not_in_the_log(self, track: Track, until: int) -> Slice | None:
        """A stretch from the publishing until the log knows of the publication again."""
        if self._begin is None:
            return None
        way = self._slice(track, self._begin, until, f"{self._publication}: {NOT_IN_THE_LOG}")
        return self._drawing.add(way, self._published)

    def _work(self) -> None:
        """Draws the router's work on arrivals, with the comparison in it, which is logged when the work is done."""
        compared: dict[int, TraceRecord] = {}
        for record in self._records.get(Event.MATCHED, ()):
            arrival = _last_until(self._arrivals.get(record.node, ()), record.time)
            if arrival is not None:
                compared[id(arrival)] = record
        for arrival in self._records.get(Event.RECEIVED, ()):
            duration, found = arrival.duration or 0, compared.get(id(arrival))
            if duration or found is not None:
                track, end = self._tracks.router(arrival.node), arrival.time + duration
                work = self._slice(track, arrival.time, end, self._publication, _matches(found))
                took = 0 if found is None else min(found.duration or 0, duration)
                work.inner = ((arrival.time, arrival.time + took, "compared"),) if took else ()
                self._drawing.add(work)


def _by_link(sent: Iterable[TraceRecord]) -> dict[tuple[str, str], list[TraceRecord]]:
    """Departures by the two ends of their link, each list in order of time."""
    found: defaultdict[tuple[str, str], list[TraceRecord]] = defaultdict(list)
    for record in sent:
        found[record.node, record.peer or ""].append(record)
    return found


def _last_until(records: Sequence[TraceRecord], time: int) -> TraceRecord | None:
    """The last of some records in order of time that is not later than a time."""
    number = bisect_right(records, time, key=_time)
    return records[number - 1] if number else None


def _time(record: TraceRecord) -> int:
    return record.time


def _size(departure: TraceRecord) -> Facts:
    return {"bytes": departure.bytes or 0}


def _queue(departure: TraceRecord) -> Facts:
    return {} if departure.queue is None else {"messages left behind": departure.queue}


def _matches(compared: TraceRecord | None) -> Facts:
    return {} if compared is None or compared.count is None else {"matches": compared.count}


def _stated(record: TraceRecord) -> Facts:
    """Reason and neighbour of a copy's end, or of a disturbance."""
    stated = {"reason": record.text, "neighbour": record.peer}
    return {name: text for name, text in stated.items() if text is not None}
