"""Sums over the ways of notifications by which the budget of delays is audited: bounds of what its parts can be.

They come from the ways alone, by turns at brokers, and not from the passages that the budget is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from math import inf

import msgspec
import numpy as np
import pyarrow as pa

from analysis.auditing.hops.asked import AskedVariant, untouched
from analysis.auditing.hops.table import Numbers
from analysis.auditing.hops.turns import TURNS
from analysis.engines.arrays import elements_of, keyed_lists, lengths_of, numbers_of
from analysis.judging.journeys.notified_ways import ArrivalColumn, NoticeColumn, PublishingColumn
from analysis.judging.journeys.paths import NO_ARRIVAL
from analysis.reading.event_table import NOBODY, Truths
from analysis.reading.publication_events import UNKNOWN
from analysis.tables.totals import Rows, Sum, Tally
from record.time_units import SECOND
from topology.link_properties import JitterDistribution, LinkProperties
from topology.sites import Site

_LEAST = {JitterDistribution.UNIFORM: -1.0, JitterDistribution.NORMAL: -5.0, JitterDistribution.PARETO: -0.6}
_MOST = {JitterDistribution.UNIFORM: 1.0, JitterDistribution.NORMAL: 5.0, JitterDistribution.PARETO: 25.0}
"""Bounds of jitter, in units of the jitter."""
_ENDLESS = 1e18
"""Nanoseconds that stand for a time without end."""
_TIMES_COUNTED = 4
"""Stretches of one stay at a node that may each count a wait which touches them: that before the turn, that after
writing, that while sending, and all others together."""
_BY_RELAY = 2
"""Stretches of a passage over a link that may each count a wait of a relay which touches them."""


class PassedColumn(IntEnum):
    """The columns of a publication's turn at a broker: at the publisher's, or on the way of a notification."""

    BROKER = 0
    TURN = 1
    PUBLISHED = 2
    """The time at which its client published it; `UNKNOWN` where it came over a link."""
    NOTIFICATIONS = 3
    """The number of notifications on whose ways the turn is."""


class WaySums(msgspec.Struct):
    """The ways of one variant's first notifications that lead back to a publisher's broker, in nanoseconds."""

    variant: int
    notifications: Sum = 0
    delay: Sum = 0
    links_least: Sum = 0
    """The least that the links on their ways, access links among them, can have taken together, as asked."""
    links_most: Sum = 0
    """The most: no more than passed between the turns at their ends, unless a fault made a link quicker than asked."""
    contention_most: Sum = 0
    """The most that waits of nodes on their ways can have added to them."""


class WaysOnHost(msgspec.Struct):
    """The stretches of such ways at brokers of one host."""

    variant: int
    host: str
    """Empty where one host had all of the run."""
    begun: Sum = 0
    """Ways that began at them."""
    passed: Sum = 0
    """Passages over links to them."""
    ended: Sum = 0
    """Ways that ended at them."""


@dataclass(slots=True)
class WayTally(Tally):
    """The sums of some buckets of publications."""

    ways: Rows[WaySums] = field(default_factory=partial(Rows, WaySums))
    on_hosts: Rows[WaysOnHost] = field(default_factory=partial(Rows, WaysOnHost))


@dataclass(frozen=True)
class WaySumStage:
    """Sums the ways of one bucket."""

    variants: Sequence[AskedVariant]
    nodes: Sequence[str]
    """Brokers and drivers, by number."""

    def __call__(self, parts: pa.Table) -> tuple[WayTally, pa.Table]:
        """The sums, and rows of `TURNS` with what was passed."""
        tally, passed = WayTally(), dict[int, Numbers]()
        for number, asked in enumerate(self.variants):
            arrivals, notices, publishings = _ways_of(number, parts)
            if not asked.whole_log:
                continue
            followed = _Followed(asked, self.nodes, arrivals, notices, publishings)
            if len(notices):
                followed.add(tally, number)
            if asked.processors and len(rows := followed.passed(number)):
                passed[number] = rows
        return tally, keyed_lists(TURNS, [*passed], passed=[*passed.values()])


def _ways_of(variant: int, parts: pa.Table) -> tuple[Numbers, Numbers, Numbers]:
    """All arrivals, which name the rows of publishings; the notices of one variant whose ways are known, which name the
    rows of both; and all publishings."""
    publishings = _rows(parts, "publishings", len(PublishingColumn))
    arrivals = _rows(parts, "arrivals", len(ArrivalColumn))
    notices = _rows(parts, "notices", len(NoticeColumn))
    made, arrived, told = (
        _counts(parts, name, len(columns))
        for name, columns in (("publishings", PublishingColumn), ("arrivals", ArrivalColumn), ("notices", NoticeColumn))
    )
    for rows, column, counts, of in (
        (arrivals, ArrivalColumn.PUBLISHING, arrived, made),
        (arrivals, ArrivalColumn.BEFORE, arrived, arrived),
        (notices, NoticeColumn.ARRIVAL, told, arrived),
        (notices, NoticeColumn.PUBLISHING, told, made),
    ):
        first = np.cumsum(of) - of
        rows[:, column] += np.where(rows[:, column] == NO_ARRIVAL, 0, np.repeat(first, counts))
    of = publishings[notices[:, NoticeColumn.PUBLISHING], PublishingColumn.VARIANT]
    own = (of == variant) & (notices[:, NoticeColumn.ARRIVAL] != NO_ARRIVAL)
    return arrivals, notices[own], publishings


def _rows(parts: pa.Table, name: str, columns: int) -> Numbers:
    return numbers_of(elements_of(parts.column(name))).reshape(-1, columns)


def _counts(parts: pa.Table, name: str, columns: int) -> Numbers:
    """The number of rows of each part."""
    return lengths_of(parts.column(name)).astype(np.int64) // columns


@dataclass(frozen=True, slots=True)
class _Steps:
    """Brokers at which ways were, equally far from their ends."""

    arrivals: Numbers
    brokers: Numbers
    ways: Numbers
    onward: Truths
    """True where the message had come over a link."""


class _Followed:
    """Ways followed from clients back to publishers' brokers, all at once, hop by hop."""

    def __init__(
        self, asked: AskedVariant, nodes: Sequence[str], arrivals: Numbers, notices: Numbers, publishings: Numbers
    ) -> None:
        self._asked = asked
        self._nodes = nodes
        self._arrivals, self._notices, self._publishings = arrivals, notices, publishings
        published = publishings[notices[:, NoticeColumn.PUBLISHING]]
        self._publishers = published[:, PublishingColumn.PUBLISHER]
        self._begin, self._end = published[:, PublishingColumn.INTENDED], notices[:, NoticeColumn.NOTIFIED]
        self._least, self._most = np.zeros(len(notices)), np.zeros(len(notices))
        self._waited = np.zeros(len(notices), dtype=np.int64)
        self._known = np.ones(len(notices), dtype=np.bool_)
        self._steps: list[_Steps] = []

    def add(self, tally: WayTally, number: int) -> None:
        """Adds the ways of a variant over links that the overlay had at the start."""
        notices = self._notices
        self._wait(self._publishers, np.arange(len(notices)))
        followed, at = np.arange(len(notices)), notices[:, NoticeColumn.ARRIVAL]
        sites, ends = notices[:, NoticeColumn.SITE], (*self._nodes, *(site.name for site in self._asked.sites))
        beside = self._arrivals[at, ArrivalColumn.BROKER]
        for end, own in _places(np.where(sites == NOBODY, beside, len(self._nodes) + sites)):
            self._wait_for(self._asked.subscribers_of(ends[end]), own, _TIMES_COUNTED)
        begin = self._arrivals[at, ArrivalColumn.TIME]
        times = begin, notices[:, NoticeColumn.NOTIFIED]
        self._access(sites, _to_clients, times, followed)
        while len(followed):
            here = self._arrivals[at]
            self._wait(here[:, ArrivalColumn.BROKER], followed)
            before = here[:, ArrivalColumn.BEFORE]
            onward = before != NO_ARRIVAL
            self._come(here[~onward], followed[~onward])
            self._steps.append(_Steps(at, here[:, ArrivalColumn.BROKER], followed, onward))
            followed, at, here = followed[onward], before[onward], here[onward]
            self._pass(self._arrivals[at], here, followed)
        known, delay, sums = self._known, self._end - self._begin, tally.ways.of(number)
        self._count_on_hosts(tally.on_hosts, number)
        sums.notifications += int(known.sum())
        sums.delay += int(delay[known].sum())
        sums.links_least += _whole(self._least[known].sum())
        sums.links_most += _whole(self._most[known].sum())
        sums.contention_most += int(np.minimum(self._waited, np.maximum(delay, 0))[known].sum())

    def passed(self, variant: int) -> Numbers:
        """The rows of `PassedColumn` of all publishers' turns, and of those on the ways that were added."""
        arrivals = self._arrivals
        on_ways = np.zeros(len(arrivals), dtype=np.int64)
        for step in self._steps:
            on_ways += np.bincount(step.arrivals[self._known[step.ways]], minlength=len(arrivals))
        published = self._publishings[arrivals[:, ArrivalColumn.PUBLISHING]]
        first = arrivals[:, ArrivalColumn.BEFORE] == NO_ARRIVAL
        first &= published[:, PublishingColumn.VARIANT] == variant
        rows = np.empty((len(arrivals), len(PassedColumn)), dtype=np.int64)
        rows[:, PassedColumn.BROKER] = arrivals[:, ArrivalColumn.BROKER]
        rows[:, PassedColumn.TURN] = arrivals[:, ArrivalColumn.TIME]
        rows[:, PassedColumn.PUBLISHED] = np.where(first, published[:, PublishingColumn.PUBLISHED], UNKNOWN)
        rows[:, PassedColumn.NOTIFICATIONS] = on_ways
        return np.asarray(rows[first | (on_ways > 0)])

    def _count_on_hosts(self, rows: Rows[WaysOnHost], variant: int) -> None:
        """Counts the stretches of ways at brokers."""
        for depth, step in enumerate(self._steps):
            known = self._known[step.ways]
            for broker, places in _places(step.brokers[known]):
                onward = int(step.onward[known][places].sum())
                row = rows.of(variant, self._asked.hosts.get(self._nodes[broker], ""))
                row.ended += len(places) if depth == 0 else 0
                row.passed += onward
                row.begun += len(places) - onward

    def _wait(self, nodes: Numbers, ways: Numbers) -> None:
        """Counts what each node can have added to a way by waiting."""
        if not self._asked.processors:
            return
        for number, places in _places(nodes):
            if number != NOBODY:
                self._wait_for(self._nodes[number], ways[places], _TIMES_COUNTED)

    def _wait_for(self, node: str, ways: Numbers, stretches: int) -> None:
        """Counts what one node can have added to ways in so many stretches of each."""
        times = self._asked.processors.get(node)
        if times is not None:
            self._waited[ways] += stretches * times.waited_at_most(self._begin[ways], self._end[ways])

    def _come(self, first: Numbers, ways: Numbers) -> None:
        """Counts what access links of publishers can have taken, given the rows of the turns at their brokers."""
        published = self._publishings[first[:, ArrivalColumn.PUBLISHING]]
        times = published[:, PublishingColumn.PUBLISHED], first[:, ArrivalColumn.TIME]
        self._access(published[:, PublishingColumn.SITE], lambda site: _bounds(site.up, site.down), times, ways)

    def _access(
        self,
        sites: Numbers,
        bounds: Callable[[Site], tuple[float, float]],
        times: tuple[Numbers, Numbers],
        ways: Numbers,
    ) -> None:
        """Counts what one direction of access links can have taken between two times; `bounds` are the least and the
        most where nothing has struck it."""
        begin, end = times
        for number, own in _places(sites):
            if number != NOBODY:
                site = self._asked.sites[number]
                usual_least, usual_most = bounds(site)
                struck = ~untouched(begin[own], end[own], self._asked.struck_access(site))
                least, most = np.where(struck, 0.0, usual_least), np.where(struck, inf, usual_most)
                self._least[ways[own]] += least
                self._most[ways[own]] += np.maximum(least, np.minimum(most, np.maximum(end[own] - begin[own], 0)))

    def _pass(self, sent: Numbers, received: Numbers, ways: Numbers) -> None:
        """Counts what each link can have taken."""
        left = sent[:, ArrivalColumn.TIME]
        elapsed = np.maximum(received[:, ArrivalColumn.TIME] - left, 0)
        code = sent[:, ArrivalColumn.BROKER] * len(self._nodes) + received[:, ArrivalColumn.BROKER]
        for number, own in _places(code):
            source, target = (self._nodes[node] for node in divmod(number, len(self._nodes)))
            for relay in {self._asked.relay_of(source), self._asked.relay_of(target)}:
                self._wait_for(relay, ways[own], _BY_RELAY)
            link = self._asked.links.get((source, target))
            if link is None:  # it appeared later
                self._known[ways[own]] = False
                continue
            least, most = _bounds(link, self._asked.links.get((target, source), link))
            passed = np.maximum(link.delay * SECOND, np.minimum(most, elapsed[own]))
            if link.rate is not None and self._asked.struck:  # a fault may have set another one
                times = self._asked.struck_on_link(source, target)
                passed[~untouched(left[own], received[own, ArrivalColumn.TIME], times)] = inf
            quick = ~untouched(
                left[own], received[own, ArrivalColumn.TIME], self._asked.struck_direction(source, target)
            )
            self._least[ways[own]] += np.where(quick, 0.0, least)
            self._most[ways[own]] += passed


def _places(numbers: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Each number, and the places at which it is."""
    if not len(numbers):
        return
    order = np.argsort(numbers, kind="stable")
    found, first = np.unique(numbers[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, first[1:]), strict=True)


def _bounds(link: LinkProperties, opposite: LinkProperties) -> tuple[float, float]:
    """The shortest and the longest time of a frame on a link; TCP may have to send it again where a link loses."""
    delay, jitter = link.delay * SECOND, link.jitter * SECOND
    endless = link.rate is not None or link.loss or opposite.loss
    most = inf if endless else delay + _MOST[link.distribution] * jitter
    return max(delay + _LEAST[link.distribution] * jitter, 0.0), most


def _whole(nanoseconds: float) -> int:
    """The sum in a whole number of nanoseconds, of which 64 bits hold no more than centuries."""
    return round(min(nanoseconds, _ENDLESS))


def _to_clients(site: Site) -> tuple[float, float]:
    """Bounds of what the way to a site's clients takes: a client that reads at a rate leaves messages waiting there."""
    least, most = _bounds(site.down, site.up)
    return least, _ENDLESS if site.reads_slowly else most
