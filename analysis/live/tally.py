"""The tally of one variant: its records, added up by the second.

1. Records of brokers and gauges count for their second in whatever order they come.
2. Records of clients decide together what is due, so they are taken in order of time: those that are `LAG` older than
   the newest one at every look, and the rest at the end.
3. Delays fall into classes of 2% of their size, so that a second takes the same memory however many there are.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from analysis.live.due import OPERATIONS, DueNotifications
from analysis.live.frames import Frame, ShownBroker, ShownOverlay, ShownPhase, ShownVariant, Strike
from analysis.live.journeys import JourneySample
from analysis.live.sent import SentMessages
from analysis.live.sites import NO_SITE, SiteCounts, SitesOfVariant
from analysis.live.ways import ways_of
from analysis.run_files.logs import scenario_time
from record.log import FAULT_CHANGES, LINK_CHANGES, Event, TraceRecord
from record.time_units import SECOND
from topology.drawings.layout import layout
from topology.link_properties import BrokerId
from topology.mobility import Trajectory
from topology.model import MeshLinks, Overlay
from topology.sites import Site

LAG = 2 * SECOND
"""Nodes write what they log within less than this, as a rule."""
_CLASS = math.log(1.02)
_OF_CLIENTS = OPERATIONS | {Event.PUBLISH, Event.NOTIFIED}
_NO_WORK = 0, 0, 0
"""The last gauge of a broker that has written none."""
_PLACES = 4
"""Decimals of coordinates."""
_MILLISECONDS = 3
"""Decimals of times."""


@dataclass(slots=True)
class _Second:
    """The counts of one second, as far as they are known."""

    version: int = 0
    published: int = 0
    notified: int = 0
    due: int = 0
    arrived: int = 0
    delays: Counter[int] = field(default_factory=Counter)
    sent: Counter[int] = field(default_factory=Counter)
    queues: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Time of the last gauge in this second, and its number, by link."""
    work: dict[int, float] = field(default_factory=dict)
    strikes: list[tuple[int, Strike]] = field(default_factory=list)
    sites: defaultdict[int, SiteCounts] = field(default_factory=partial(defaultdict, SiteCounts))
    """Counts of sites by number."""

    def frame(self, at: int) -> Frame:
        return Frame(
            at=at,
            published=self.published,
            notified=self.notified,
            due=self.due,
            arrived=self.arrived,
            median_ms=_percentile(self.delays, 0.5),
            most_ms=_percentile(self.delays, 0.95),
            sent=sorted((link, messages) for link, messages in self.sent.items() if messages),
            queues=sorted((link, waiting) for link, (_, waiting) in self.queues.items()),
            work=sorted(self.work.items()),
            strikes=[strike for _, strike in sorted(self.strikes, key=lambda found: (found[0], found[1].place))],
            sites=[counts.shown(site) for site, counts in sorted(self.sites.items())],
        )


def _percentile(delays: Counter[int], share: float) -> float | None:
    """The delay in milliseconds that a share of all do not exceed, within 2%; None without any."""
    wanted = share * delays.total()
    for number in sorted(delays):
        wanted -= delays[number]
        if wanted <= 0:
            return round(math.exp(number * _CLASS) / 1e6, 3)
    return None


class VariantTally:
    """One variant, as far as its logs have been read."""

    def __init__(
        self,
        name: str,
        overlay: Overlay,
        movements: Mapping[BrokerId, Trajectory],
        dilation: float,
        version: int,
        *,
        sites: Sequence[Site] = (),
    ) -> None:
        """`version` is that of the look at the logs that found the variant. `movements` are empty where brokers stay in
        place."""
        self.name = name
        self.phases: list[ShownPhase] = []
        self._dilation = dilation
        self._seconds_of_one = 1 / (dilation * SECOND)
        """Seconds of the scenario in a nanosecond of the log."""
        self._brokers = [
            ShownBroker(broker, round(x, _PLACES), round(1 - y, _PLACES)) for broker, (x, y) in layout(overlay).items()
        ]
        self._number = {broker.name: number for number, broker in enumerate(self._brokers)}
        self._ways = ways_of(movements, self._number) if movements else []
        self._sites = SitesOfVariant(sites, self._number)
        self._version = version
        self._drawn_at = version
        """Version of the last change of the map."""
        self._links: dict[tuple[int, int], int] = {}
        if not isinstance(overlay.links, MeshLinks):  # of a full mesh, those are shown that carry something
            for link in overlay.links:
                self._link(link.a, link.b)
                self._link(link.b, link.a)
        self._seconds: dict[int, _Second] = {}
        self._work: dict[str, tuple[int, int, int]] = {}
        """Time, incarnation and work of the last gauge of each broker."""
        self._clients: list[TraceRecord] = []
        self._newest = 0
        self._due = DueNotifications(self._owe, self._arrive)
        self._sent = SentMessages(self._at, self._count_sent)
        self.journeys = JourneySample()
        self._over = False

    def look(self, version: int) -> None:
        """Begins a look at the logs; what changes from now on is of this version."""
        self._version = version

    def add(self, record: TraceRecord) -> None:
        """Adds a record, whose times are those of the log."""
        event = record.event
        self._newest = max(self._newest, record.time)
        if (site := self._sites.of(record)) != NO_SITE:
            self._sites.count(record, site, self._second(record.time).sites[site])
        if event is Event.SENT:
            self._sent.add_record(record)
        elif event is Event.RECEIVED:
            if record.kind == Event.PUBLISH:
                self.journeys.add(record)
        elif event is Event.QUEUE and record.peer is not None:
            self._add_queue(record, record.peer)
        elif event is Event.STARTED:
            self._sent.start(record.node)
        elif event is Event.LOAD:
            self._add_load(record)
        elif event in FAULT_CHANGES or event in LINK_CHANGES:
            begins = event in (Event.FAULT, Event.VANISHED)
            kind = event.value if event in LINK_CHANGES else record.text or event.value
            at = round(record.time * self._seconds_of_one, _MILLISECONDS)
            place, arrival = record.peer or "", self._sites.arrival(record)
            strike = Strike(kind, place, begins, at, self._sites.at(place), arrival, self._sites.joined(record))
            self._second(record.time).strikes.append((record.time, strike))
        elif event in _OF_CLIENTS:
            self._clients.append(record)
            self._add_client(record)

    def settle(self, unread: int | None, *, over: bool) -> None:
        """Ends a look at the logs: due notifications follow from the records of clients that are old enough, or from
        all where the run is `over`.

        `unread` is the time from which some log has still to be read; None where all have been.
        """
        self._over = over
        until = self._newest if over else self._newest - round(LAG * self._dilation)
        if unread is not None:
            until = min(until, unread)
        self._clients.sort(key=lambda record: record.time)
        count = next((n for n, record in enumerate(self._clients) if record.time > until), len(self._clients))
        taken, self._clients = self._clients[:count], self._clients[count:]
        if taken:
            self._due.take(taken)

    def shown(self, since: int) -> ShownVariant:
        """The variant, with the frames that have changed after a version."""
        overlay = ShownOverlay(self._brokers, list(self._links), self._ways, self._sites.shown)
        changed = sorted(at for at, second in self._seconds.items() if second.version > since)
        return ShownVariant(
            name=self.name,
            overlay=overlay if self._drawn_at > since else None,
            phases=self.phases,
            frames=[self._seconds[at].frame(at) for at in changed],
            followed=self.journeys.followed(self._number, self._seconds_of_one) if self._over else [],
        )

    def _add_client(self, record: TraceRecord) -> None:
        if record.event is Event.PUBLISH:
            self._second(record.time).published += 1
        elif record.event is Event.NOTIFIED:
            self._second(record.time).notified += 1

    def _add_queue(self, gauge: TraceRecord, neighbour: str) -> None:
        if gauge.sent is not None:
            former, _, _ = self._work.get(gauge.node, _NO_WORK)
            self._sent.add_gauge(gauge, former)
        if gauge.queue is not None:
            link, second = self._link(gauge.node, neighbour), self._second(gauge.time)
            second.queues[link] = max(second.queues.get(link, (0, 0)), (gauge.time, gauge.queue))

    def _count_sent(self, at: int, sender: str, receiver: str, messages: int) -> None:
        self._second_at(at).sent[self._link(sender, receiver)] += messages

    def _add_load(self, record: TraceRecord) -> None:
        """Work since the last gauge of the same incarnation, as a share of the time between the two."""
        now = record.time, record.count or 0, record.duration or 0
        before, self._work[record.node] = self._work.get(record.node), now
        if before is not None and before[1] == now[1] and now[0] > before[0] and record.node in self._number:
            share = (now[2] - before[2]) / (now[0] - before[0])
            self._second(record.time).work[self._number[record.node]] = round(share, 3)

    def _owe(self, published: int, clients: int) -> None:
        self._second(published).due += clients

    def _arrive(self, notified: int, delay: int) -> None:
        second = self._second(notified)
        second.arrived += 1
        second.delays[round(math.log(max(1, scenario_time(delay, self._dilation))) / _CLASS)] += 1

    def _at(self, time: int) -> int:
        return scenario_time(time, self._dilation) // SECOND

    def _second(self, time: int) -> _Second:
        return self._second_at(self._at(time))

    def _second_at(self, at: int) -> _Second:
        second = self._seconds.get(at)
        if second is None:
            second = self._seconds[at] = _Second()
        second.version = self._version
        return second

    def _link(self, sender: str, receiver: str) -> int:
        ends = self._number.get(sender, -1), self._number.get(receiver, -1)
        if ends not in self._links:
            self._links[ends] = len(self._links)
            self._drawn_at = self._version
        return self._links[ends]
