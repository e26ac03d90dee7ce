"""The third stage: the publications of a publisher beside each other, so that their order can be judged; it writes the
two large tables, counts what the oracle found, and hands on the delays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from analysis.engines.interface import Bucket, Output
from analysis.judging.delays import DelaySamples
from analysis.judging.examples import FoundExamples
from analysis.judging.fault_counts import FaultTally, VariantFaults
from analysis.judging.judging import Judged, Outcome, Receipt, decode_judged
from analysis.reading.intervals import FOREVER
from analysis.run_files.mapped_bytes import spooled
from analysis.run_files.phases import MILLISECOND, second_of
from analysis.tables.partitions import PartWriter
from analysis.tables.tables import Defect, Expectation, Notification, Right


@dataclass(slots=True)
class DeliveryCounts:
    """What the oracle found, over the pairs of a publication and a client in one variant."""

    expected: int = 0
    delivered: int = 0
    optional: int = 0
    excused: int = 0
    lost: int = 0
    duplicate: int = 0
    spurious: int = 0
    reordered: int = 0
    overtaken: int = 0
    spurious_causes: dict[str, int] = field(default_factory=dict)

    def add(self, outcome: Outcome, overtaken: bool, reordered: bool) -> None:
        got, must = len(outcome.receipts), outcome.right is Right.MUST
        self.delivered += got
        self.expected += must
        self.lost += must and not got
        self.overtaken += overtaken
        self.reordered += reordered
        if outcome.right is Right.NONE:
            cause = str(outcome.cause)
            self.spurious += got
            self.spurious_causes[cause] = self.spurious_causes.get(cause, 0) + got
        else:
            self.optional += got > 0 and not must
            self.excused += not got and not must
            self.duplicate += max(got - 1, 0)

    def merge(self, other: DeliveryCounts) -> None:
        self.expected += other.expected
        self.delivered += other.delivered
        self.optional += other.optional
        self.excused += other.excused
        self.lost += other.lost
        self.duplicate += other.duplicate
        self.spurious += other.spurious
        self.reordered += other.reordered
        self.overtaken += other.overtaken
        for cause, count in other.spurious_causes.items():
            self.spurious_causes[cause] = self.spurious_causes.get(cause, 0) + count


@dataclass(slots=True)
class OrderingTally:
    """What is counted of deliveries."""

    counts: dict[int, DeliveryCounts] = field(default_factory=dict)
    """By variant."""
    examples: FoundExamples = field(default_factory=FoundExamples)
    faults: FaultTally = field(default_factory=FaultTally)

    def merge(self, other: OrderingTally) -> None:
        for variant, counts in other.counts.items():
            self.counts.setdefault(variant, DeliveryCounts()).merge(counts)
        self.examples.merge(other.examples)
        self.faults.merge(other.faults)


@dataclass(frozen=True, slots=True)
class VariantOrder:
    """What a variant's deliveries are seen against."""

    name: str
    run_start: int | None
    keeps_order: bool
    faults: VariantFaults


@dataclass(frozen=True, slots=True)
class Ordering:
    """Finishes a bucket of publishers. Parts of the tables go into files of the bucket's own."""

    variants: Sequence[VariantOrder]
    parts: str
    """The directory for parts of the tables `notifications` and `expected`."""
    buckets: int

    def __call__(self, bucket: Bucket) -> Output[OrderingTally]:
        tally, samples = OrderingTally(), DelaySamples()
        judged = decode_judged(spooled(bucket.parts))
        directory = Path(self.parts)
        with (
            PartWriter(directory, Notification, bucket.number) as notifications,
            PartWriter(directory, Expectation, bucket.number) as expectations,
        ):
            for _, of_publisher in groupby(judged, lambda one: (one.variant, one.publisher)):
                for one, outcome, order in _in_order(self._seen(of_publisher, tally)):
                    variant = self.variants[one.variant]
                    reordered = variant.keeps_order and order.reordered
                    tally.counts.setdefault(one.variant, DeliveryCounts()).add(outcome, order.overtaken, reordered)
                    defect = _defect(outcome, reordered)
                    tally.examples.add(one, outcome, defect, order.overtaken)
                    expectations.write(_expectation(variant, one, outcome, defect))
                    for row in _notifications(variant, one, outcome, order):
                        notifications.write(row)
                    if outcome.receipts:
                        samples.add(one, outcome.receipts[0], variant.run_start)
        return Output(tally, samples.parts(self.buckets))

    def _seen(self, judged: Iterable[Judged], tally: OrderingTally) -> Iterator[Judged]:
        for one in judged:
            tally.faults.add(one, self.variants[one.variant].faults)
            yield one


_Moment = tuple[int, int]
"""A time, and a place in the log that tells the order of what happened then."""
_NEVER: _Moment = FOREVER, 0


@dataclass(frozen=True, slots=True)
class _Order:
    """Whether a client's first notification of a publication was overtaken."""

    later_arrived: _Moment
    """When the first of its publisher's later publications reached the client."""
    overtaken: bool
    reordered: bool
    """Overtaken by one on the same tree, though the client must get both."""


def _in_order(of_publisher: Iterable[Judged]) -> Iterator[tuple[Judged, Outcome, _Order]]:
    """A publisher's publications, the latest first: what is overtaken came after the first arrival of a later one."""
    first_of_any: dict[str, _Moment] = {}
    first_on_tree: dict[tuple[str, int], _Moment] = {}
    for one in of_publisher:
        for outcome in one.outcomes:
            later = first_of_any.get(outcome.client, _NEVER)
            if not outcome.receipts or one.published is None:
                yield one, outcome, _Order(later, False, False)
                continue
            arrived = _moment(outcome.receipts[0])
            reordered = False
            if one.tree is not None and outcome.right is Right.MUST:
                on_tree = outcome.client, one.tree
                later_on_tree = first_on_tree.get(on_tree, _NEVER)
                reordered = later_on_tree < arrived
                first_on_tree[on_tree] = min(arrived, later_on_tree)
            first_of_any[outcome.client] = min(arrived, later)
            yield one, outcome, _Order(later, later < arrived, reordered)


def _moment(receipt: Receipt) -> _Moment:
    return receipt.notified, receipt.place


def _defect(outcome: Outcome, reordered: bool) -> Defect | None:
    got = len(outcome.receipts)
    if outcome.right is Right.NONE:
        return Defect.SPURIOUS
    if got > 1:
        return Defect.DUPLICATED
    if outcome.right is Right.MUST and not got:
        return Defect.LOST
    return Defect.REORDERED if reordered else None


def _expectation(variant: VariantOrder, one: Judged, outcome: Outcome, defect: Defect | None) -> Expectation:
    return Expectation(
        variant=variant.name,
        publication=one.publication,
        client=outcome.client,
        right=outcome.right.value,
        notifications=len(outcome.receipts),
        defect=None if defect is None else defect.value,
        cause=None if outcome.cause is None else outcome.cause.value,
        publisher=one.publisher,
        published_ns=one.published,
    )


def _notifications(variant: VariantOrder, one: Judged, outcome: Outcome, order: _Order) -> Iterator[Notification]:
    for repeat, receipt in enumerate(outcome.receipts):
        yield Notification(
            variant=variant.name,
            publication=one.publication,
            client=outcome.client,
            repeat=repeat,
            publisher=one.publisher,
            broker=receipt.broker,
            intended_ns=one.intended,
            published_ns=one.published,
            notified_ns=receipt.notified,
            delay_ms=_delay(one, receipt),
            hops=receipt.hops,
            queueing_ms=None if receipt.waited is None else receipt.waited / MILLISECOND,
            path=None if receipt.path is None else list(receipt.path),
            second=second_of(one.intended, variant.run_start),
            overtaken=one.published is not None and order.later_arrived < _moment(receipt),
        )


def _delay(one: Judged, receipt: Receipt) -> float | None:
    return None if one.intended is None else (receipt.notified - one.intended) / MILLISECOND
