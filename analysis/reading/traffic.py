"""Messages moved by each broker and over each link: one small count of all records, and the tables made of it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, starmap
from typing import NamedTuple, TypeVar

from analysis.reading.buffers import BufferReadings
from analysis.reading.gauges import LoadReadings, QueueReadings
from analysis.tables.broker_work import BrokerLoad, MatchingLoad
from analysis.tables.buffers import BufferSize
from analysis.tables.totals import Tally, with_shared_texts
from analysis.tables.traffic import BrokerMessages, Drop, LabelledMessages, LinkLoad, QueueLength
from broker_service.messages import Kind
from record.log import SAMPLED, Event, TraceRecord
from record.time_units import MILLISECOND

_REJECTIONS = (Event.REJECTED, Event.REFUSED)
COUNTED = frozenset({Event.RECEIVED, Event.SENT, Event.DELIVERED, Event.MATCHED, Event.DROPPED, *_REJECTIONS})
_PUBLISH = Kind.PUBLISH.word
_Key = TypeVar("_Key")
_NEVER = -1
"""The maximum of no values; values are never negative."""


class Activity(NamedTuple):
    """The properties that records counted together have in common."""

    variant: int
    node: str
    event: Event
    kind: str | None
    peer: str | None
    reason: str | None
    label: str | None


@dataclass(slots=True)
class Amount:
    """The number of records of an activity, and sums and maxima of their numbers."""

    records: int = 0
    counted: int = 0
    """The sum of `count`; a record without one counts 1."""
    bytes: int = 0
    duration: int = 0
    max_duration: int = _NEVER
    max_queue: int = _NEVER

    def add(self, record: TraceRecord) -> None:
        self.records += 1
        count, duration, queue = record.count, record.duration, record.queue
        self.counted += 1 if count is None else count
        if record.bytes is not None:
            self.bytes += record.bytes
        if duration is not None:
            self.duration += duration
            if duration > self.max_duration:  # noqa: PLR1730 - runs for every message of every hop
                self.max_duration = duration
        if queue is not None and queue > self.max_queue:
            self.max_queue = queue

    def times(self, scale: float) -> Amount:
        """The amount that this one stands for, if it is a sample; maxima stay those of the sample."""
        return Amount(
            records=round(self.records * scale),
            counted=round(self.counted * scale),
            bytes=round(self.bytes * scale),
            duration=round(self.duration * scale),
            max_duration=self.max_duration,
            max_queue=self.max_queue,
        )

    def merge(self, other: Amount) -> None:
        self.records += other.records
        self.counted += other.counted
        self.bytes += other.bytes
        self.duration += other.duration
        self.max_duration = max(self.max_duration, other.max_duration)
        self.max_queue = max(self.max_queue, other.max_queue)


class ActivityAmount(NamedTuple):
    """The amount of an activity."""

    activity: Activity
    amount: Amount


class Amounts:
    """The amounts of all activities."""

    row = ActivityAmount

    def __init__(self) -> None:
        self._of: dict[Activity, Amount] = {}

    def add(self, row: ActivityAmount) -> None:
        known = self._of.get(row.activity)
        if known is None:
            self._of[with_shared_texts(row.activity)] = row.amount
        else:
            known.merge(row.amount)

    def __iter__(self) -> Iterator[ActivityAmount]:
        return starmap(ActivityAmount, self._of.items())


@dataclass(slots=True)
class Traffic(Tally):
    """Amounts by activity (brokers x neighbours x kinds x labels) and gauges (queues or brokers x seconds)."""

    amounts: Amounts = field(default_factory=Amounts)
    gauges: QueueReadings = field(default_factory=QueueReadings)
    loads: LoadReadings = field(default_factory=LoadReadings)
    buffers: BufferReadings = field(default_factory=BufferReadings)


@dataclass(frozen=True, slots=True)
class TrafficTables:
    """The tables made of the traffic, ordered by their first columns."""

    traffic: Traffic
    variants: Sequence[str]
    run_starts: Sequence[int | None]
    """The time at which the run phase of each variant started; None where it did not."""
    scales: Sequence[float]
    """Number of publications for which each one stands that brokers logged, for each variant; 1 where they logged
    all."""
    _activities: dict[tuple[int, Event], list[tuple[Activity, Amount]]] = field(
        init=False, repr=False, default_factory=dict
    )
    """Activities by variant and event, because each table needs few events, and that of links one variant at a time; a
    mesh has hundreds of thousands of activities. Where brokers logged a sample of publications, the amounts are those
    for which it stands."""

    def __post_init__(self) -> None:
        for activity, amount in self.traffic.amounts:
            scale = self.scales[activity.variant]
            sampled = scale != 1 and activity.kind == _PUBLISH and activity.event in SAMPLED
            of_event = self._activities.setdefault((activity.variant, activity.event), [])
            of_event.append((activity, amount.times(scale) if sampled else amount))

    def messages(self) -> list[BrokerMessages]:
        """The table `messages`. A received record without a peer came from a client."""
        rows: dict[tuple[int, str, str], list[int]] = {}

        def row_of(activity: Activity) -> list[int]:
            return rows.setdefault((activity.variant, activity.node, activity.kind or "control"), [0] * 6)

        for activity, amount in self._of(Event.RECEIVED):
            row = row_of(activity)
            row[activity.peer is not None] += amount.records
            row[4] += amount.bytes
        for activity, amount in self._of(Event.SENT):
            row = row_of(activity)
            row[2] += amount.records
            row[5] += amount.bytes
        for activity, amount in self._of(Event.DELIVERED):
            row_of(activity)[3] += amount.records
        return [
            BrokerMessages(
                variant=self.variants[variant], broker=broker, kind=kind, from_clients=row[0], received=row[1],
                sent=row[2], delivered=row[3], received_bytes=row[4], sent_bytes=row[5],
            )
            for (variant, broker, kind), row in sorted(rows.items())
        ]  # fmt: skip

    def labels(self) -> list[LabelledMessages]:
        """The table `labels`."""
        rows: dict[tuple[int, str, str, str], list[int]] = {}
        for event, first in ((Event.SENT, 0), (Event.RECEIVED, 2)):
            for activity, amount in self._of(event):
                if activity.label is not None:
                    key = activity.variant, activity.node, activity.kind or "control", activity.label
                    row = rows.setdefault(key, [0] * 4)
                    row[first] += amount.records
                    row[first + 1] += amount.bytes
        return [
            LabelledMessages(
                variant=self.variants[variant], broker=broker, kind=kind, label=label, sent=row[0], sent_bytes=row[1],
                received=row[2], received_bytes=row[3],
            )
            for (variant, broker, kind, label), row in sorted(rows.items())
        ]  # fmt: skip

    def links(self) -> Iterator[LinkLoad]:
        """The table `links`, made variant by variant, because it may be long."""
        return chain.from_iterable(map(self.links_of, self.variants))

    def links_of(self, variant: str) -> list[LinkLoad]:
        """The rows of the table `links` of one variant."""
        rows: dict[tuple[str, str], tuple[Amount, Amount]] = {}
        for activity, amount in self._activities.get((self.variants.index(variant), Event.SENT), ()):
            key = activity.node, activity.peer or ""
            every, publications = rows.setdefault(key, (Amount(), Amount()))
            every.merge(amount)
            if activity.kind == _PUBLISH:
                publications.merge(amount)
        return [
            LinkLoad(
                variant=variant,
                source=source,
                target=target,
                messages=every.records,
                publications=publications.records,
                bytes=every.bytes,
                max_queue=_known(every.max_queue),
                mean_wait_ms=every.duration / every.records / MILLISECOND if every.max_duration != _NEVER else None,
                max_wait_ms=every.max_duration / MILLISECOND if every.max_duration != _NEVER else None,
            )
            for (source, target), (every, publications) in sorted(rows.items())
        ]

    def matching(self) -> list[MatchingLoad]:
        """The table `matching`."""
        rows = self._summed(Event.MATCHED, lambda activity: (activity.variant, activity.node))
        return [
            MatchingLoad(
                variant=self.variants[variant],
                broker=broker,
                operations=amount.records,
                matches=amount.counted,
                time_ms=amount.duration / MILLISECOND,
            )
            for (variant, broker), amount in sorted(rows.items())
        ]

    def drops(self, brokers: Container[str]) -> list[Drop]:
        """The table `drops`. Rejections are taken from the clients' logs, so that none counts twice."""

        def reason(activity: Activity) -> tuple[int, str, str, str, str]:
            return activity.variant, activity.node, activity.event, activity.kind or "", activity.reason or ""

        dropped = self._summed(Event.DROPPED, reason)
        rejected = {key: amount for event in _REJECTIONS for key, amount in self._summed(event, reason).items()}
        rows = dropped | {key: amount for key, amount in rejected.items() if key[1] not in brokers}
        return [
            Drop(
                variant=self.variants[variant],
                node=node,
                event=str(event),
                kind=kind,
                reason=text,
                count=amount.counted,
            )
            for (variant, node, event, kind, text), amount in sorted(rows.items())
        ]

    def queues(self) -> Iterator[QueueLength]:
        """The table `queues`, made row by row, because it may be long."""
        for queue, second, waiting, in_flight in self.traffic.gauges.largest():
            yield QueueLength(
                variant=self.variants[queue.variant],
                broker=queue.broker,
                neighbour=queue.neighbour,
                second=second,
                queue=waiting,
                in_flight=in_flight,
            )

    def loads(self) -> Iterator[BrokerLoad]:
        """The table `load`, made row by row, because it may be long."""
        for broker, load in self.traffic.loads.loads(self.run_starts):
            yield BrokerLoad(
                variant=self.variants[broker.variant],
                broker=broker.broker,
                second=load.second,
                processor=load.share,
                memory_bytes=load.memory,
            )

    def buffers(self) -> Iterator[BufferSize]:
        """The table `buffers`, made row by row, because it may be long."""
        return self.traffic.buffers.rows(self.variants, self.run_starts)

    def _of(self, event: Event) -> Iterator[tuple[Activity, Amount]]:
        return chain.from_iterable(self._activities.get((variant, event), ()) for variant in range(len(self.variants)))

    def _summed(self, event: Event, key: Callable[[Activity], _Key]) -> dict[_Key, Amount]:
        rows: dict[_Key, Amount] = {}
        for activity, amount in self._of(event):
            rows.setdefault(key(activity), Amount()).merge(amount)
        return rows


def _known(maximum: int) -> int | None:
    return None if maximum == _NEVER else maximum
