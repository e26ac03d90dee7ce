"""Exchange of statistics and times between brokers (section 4.3), which runs only while a broker asks for it.

1. A broker that places a composite subscription asks for the statistics of the trees that its parts are bound to. A
   request follows the tree towards its root; each broker on the way notes the neighbour that asks, and passes on the
   first request alone.
2. The publisher's broker samples publications of a tree from the first request on, and describes them at every interval
   (`TidOptions.statistics_interval`). Statistics that have changed noticeably go back to the brokers that asked.
   Brokers on the way keep the latest ones, with which they answer later requests at once.
3. A broker reports its times, at every interval after a noticeable change, to the neighbours that ask it for any tree.
   Those are the ones whose choice it may be.
4. A request for a tree that is not known yet waits for it, because a broker that was restarted is asked before it has
   learned its trees again. The last broker that takes its request back ends the exchange of a tree.

So a link carries one message for each tree and one for times in an interval at most, and none while nobody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.bounds import Name
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import Action, CancelTimer, Send, SetTimer
from broker_service.routing.tid.placement.decision.measurement import Measurement
from broker_service.routing.tid.placement.decision.queueing import BrokerTimes
from broker_service.routing.tid.placement.rates.statistics import Sample, Statistics
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import SubscriptionRoutingTable

TIMES_CHANGE = 0.2
"""Share of a time by which it has to change to be reported again."""
LEAST_CHANGE = 1e-4
"""Seconds by which it has to change besides, because a small time changes by its half at any moment."""


class StatisticsWanted(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender asks for the statistics of a tree."""

    tid: Name


class StatisticsUnwanted(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender takes its request back."""

    tid: Name


class StatisticsReport(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Statistics of a tree."""

    tid: Name
    statistics: Statistics


class TimesReport(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Mean times of the sender."""

    times: BrokerTimes


ExchangeMessage = StatisticsWanted | StatisticsUnwanted | StatisticsReport | TimesReport


class Tick(msgspec.Struct, frozen=True):
    """The key of the timer that ends an interval."""


class OwnUnit(NamedTuple):
    """A composite subscription on whose behalf this broker asks."""

    id: str


@dataclass(slots=True)
class _Tree:
    """A tree whose statistics are asked for."""

    wanted_by: set[BrokerId | OwnUnit] = field(default_factory=set)
    """The neighbours that ask, and the units on whose behalf this broker does."""
    latest: Statistics | None = None
    """The statistics that were sent last."""


class Exchange:
    """Statistics and times at one broker. The router owns the advertisements and performs the actions."""

    def __init__(
        self,
        advertisements: SubscriptionRoutingTable,
        measurement: Measurement,
        *,
        interval: float,
        now: Callable[[], float],
    ) -> None:
        """`interval` and `now` are in seconds."""
        self._advertisements = advertisements
        self._measurement = measurement
        self._interval = interval
        self._now = now
        self._trees: dict[TreeId, _Tree] = {}
        self._reported: dict[BrokerId, BrokerTimes] = {}
        """Times that neighbours were sent last."""
        self.samples: dict[TreeId, Sample] = {}
        """Samples of trees that are asked for and rooted here, to which the router adds publications."""
        self.times: dict[BrokerId, BrokerTimes] = {}
        """Times that neighbours have reported."""

    @property
    def wanted(self) -> Collection[TreeId]:
        """Trees whose statistics are asked for, here or by a neighbour."""
        return self._trees.keys()

    def statistics(self, tid: TreeId) -> Statistics | None:
        """The latest statistics of a tree; None before the first ones."""
        tree = self._trees.get(tid)
        return None if tree is None else tree.latest

    # Requests

    def want(self, tid: TreeId, asking: BrokerId | OwnUnit) -> list[Action]:
        """A neighbour asks for the statistics of a tree, or this broker does on behalf of a unit."""
        actions: list[Action] = []
        tree = self._trees.get(tid)
        if tree is None:
            if not self._trees:
                self._measurement.take()
                actions.append(SetTimer(Tick(), self._interval))
            tree = self._trees[tid] = _Tree()
            actions += self._begin(tid)
        elif tree.latest is not None:
            actions += self._report(tid, tree.latest, (asking,))
        tree.wanted_by.add(asking)
        return actions

    def unwant(self, tid: TreeId, asking: BrokerId | OwnUnit) -> list[Action]:
        """A request is taken back; has no effect when there was none."""
        tree = self._trees.get(tid)
        if tree is None or asking not in tree.wanted_by:
            return []
        tree.wanted_by.discard(asking)
        if tree.wanted_by:
            return []
        next_hop = self._next_hop(tid)
        return [*_to(next_hop, tid, StatisticsUnwanted(tid)), *self.forget(tid)]

    def announced(self, tid: TreeId) -> list[Send]:
        """A tree is new here: requests that wait for it can go on."""
        return self._begin(tid) if tid in self._trees else []

    def forget(self, tid: TreeId) -> list[Action]:
        """A tree has ended, or is lost here; those who ask learn it by themselves, and ask again for another one."""
        self.samples.pop(tid, None)
        if self._trees.pop(tid, None) is None or self._trees:
            return []
        self._reported.clear()
        return [CancelTimer(Tick())]

    def restarted(self, neighbour: BrokerId) -> list[Action]:
        """A neighbour has lost its state: its requests are void, and those made to it are made again."""
        self.times.pop(neighbour, None)
        self._reported.pop(neighbour, None)
        actions: list[Action] = []
        for tid in tuple(self._trees):
            actions += self.unwant(tid, neighbour)
        for tid in self._trees:
            if self._next_hop(tid) == neighbour:
                actions += _to(neighbour, tid, StatisticsWanted(tid))
        return actions

    # Reports

    def tick(self) -> list[Action]:
        """An interval has ended: what has changed noticeably is sent."""
        actions: list[Action] = [SetTimer(Tick(), self._interval)]
        due = [(tid, sample) for tid, sample in self.samples.items() if sample.is_due(self._now())]
        for tid, sample in due:
            tree, described = self._trees[tid], sample.describe(self._now())
            if tree.latest is None or tree.latest.differs(described):
                tree.latest = described
                actions += self._report(tid, described, tree.wanted_by)
        measured = self._measurement.take()
        for neighbour in _neighbours(asking for tree in self._trees.values() for asking in tree.wanted_by):
            times, former = measured.reported_to(neighbour), self._reported.get(neighbour)
            if former is None or _differs(former, times):
                self._reported[neighbour] = times
                actions += _to(neighbour, "times", TimesReport(times))
        return actions

    def receive(self, neighbour: BrokerId, message: ExchangeMessage) -> list[Action]:
        """Handles a message of a neighbour. Statistics count only when they come along the tree."""
        match message:
            case StatisticsWanted(tid):
                return self.want(tid, neighbour)
            case StatisticsUnwanted(tid):
                return self.unwant(tid, neighbour)
            case TimesReport(times):
                self.times[neighbour] = times
                return []
            case StatisticsReport(tid, statistics):
                tree = self._trees.get(tid)
                if tree is None or self._next_hop(tid) != neighbour:
                    return []
                tree.latest = statistics
                return self._report(tid, statistics, tree.wanted_by)

    def tables(self) -> Mapping[str, object]:
        """Neighbours that have asked for each tree's statistics, as the broker's status shows them to people."""
        return {tid: _neighbours(tree.wanted_by) for tid, tree in self._trees.items()}

    def _begin(self, tid: TreeId) -> list[Send]:
        """Samples publications of a tree, or asks its next hop; does nothing while the tree is not known."""
        row = self._advertisements.get(tid)
        if row is None:
            return []
        if row.last_hop is None:
            self.samples[tid] = Sample(row.advertisement, self._now())
        return _to(row.last_hop, tid, StatisticsWanted(tid))

    def _report(self, tid: TreeId, statistics: Statistics, asking: Iterable[BrokerId | OwnUnit]) -> list[Action]:
        report = StatisticsReport(tid, statistics)
        actions: list[Action] = []
        for neighbour in _neighbours(asking):
            actions += _to(neighbour, tid, report)
        return actions

    def _next_hop(self, tid: TreeId) -> BrokerId | None:
        """The neighbour towards the root; None at the root, and for a tree that is not known."""
        return self._advertisements.last_hop(tid)


def _neighbours(asking: Iterable[BrokerId | OwnUnit]) -> list[BrokerId]:
    return sorted({neighbour for neighbour in asking if isinstance(neighbour, str)})


def _to(neighbour: BrokerId | None, id: str, message: ExchangeMessage) -> list[Send]:
    if neighbour is None:
        return []
    return [Send(neighbour, Message(Kind.CONTROL, id, b"", encode_header(message)), label="statistics")]


def _differs(former: BrokerTimes, latter: BrokerTimes) -> bool:
    pairs = zip(msgspec.structs.astuple(former), msgspec.structs.astuple(latter), strict=True)
    return any(abs(before - after) > max(LEAST_CHANGE, TIMES_CHANGE * before) for before, after in pairs)
