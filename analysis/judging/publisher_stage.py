"""Stage 3, by publisher: detects reordering, writes the tables `notifications` and `expected`, passes delays on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

import msgspec
import pyarrow as pa

from analysis.engines.arrays import row_of
from analysis.judging.delay_stage import DELAYS, DelaySamples
from analysis.judging.deliveries.counts import DeliveryCounts
from analysis.judging.deliveries.delivery_ratio import DueTally
from analysis.judging.deliveries.gaps import Starts, with_gaps
from analysis.judging.evidence.recovery import Recoveries
from analysis.judging.evidence.weighing import weighed
from analysis.judging.examples import FoundExamples, add_example, found_examples
from analysis.judging.fault_effects.counts import FaultTally
from analysis.judging.judged import JudgedPublication, PublicationOutcome, Receipt, decode_judged
from analysis.judging.variant_context import VariantContext
from analysis.reading.intervals import FOREVER
from analysis.run_files.folders import Folder
from analysis.run_files.time_units import second_due
from analysis.tables.deliveries import Defect, Expectation, Notification, Right
from analysis.tables.partitions import PartWriter
from analysis.tables.totals import Rows, Tally
from record.promises import Completeness, Order
from record.time_units import MILLISECOND


@dataclass(slots=True)
class PublisherTally(Tally):
    """Counts made of deliveries."""

    counts: Rows[DeliveryCounts] = field(default_factory=partial(Rows, DeliveryCounts))
    examples: FoundExamples = field(default_factory=found_examples)
    faults: FaultTally = field(default_factory=FaultTally)
    due: DueTally = field(default_factory=DueTally)


DELIVERED = pa.schema([*PublisherTally().schema(), ("delays", pa.list_(pa.struct(list(DELAYS))))])
"""The results of stage 3 for a bucket of publishers: its tally, and delays for the buckets of stage 4."""


@dataclass(frozen=True, slots=True)
class PublisherStage:
    """Finishes a bucket of publishers. Its part of each table goes into files of the bucket's own."""

    variants: Sequence[VariantContext]
    parts: Folder | None
    """The folder for parts of the tables `notifications` and `expected`; None where neither these nor figures of faults
    and delays are wanted."""
    buckets: int

    def __call__(self, parts: pa.Table) -> pa.Table:
        tally, samples = PublisherTally(), DelaySamples()
        number = parts.column("bucket")[0].as_py()
        with (
            PartWriter(self.parts, Notification, number) as notifications,
            PartWriter(self.parts, Expectation, number) as expectations,
        ):
            for of_publisher in self._publishers(parts):
                for judged, outcome, order in _with_order(self._counted(of_publisher, tally)):
                    variant = self.variants[judged.variant]
                    reordered = order.violates(variant.promises.order)
                    tally.counts.of(judged.variant).add(outcome, order.overtaken, reordered)
                    defect = _defect(outcome, reordered)
                    add_example(tally.examples, judged, outcome, defect, order.overtaken)
                    if self.parts is not None:
                        expectations.write(_expectation(variant, judged, outcome, defect))
                        for row in _notifications(variant, judged, outcome, order):
                            notifications.write(row)
                        if outcome.receipts:
                            samples.add(judged, outcome.receipts[0], variant.run_start)
        return pa.table([*tally.table().columns, row_of(samples.groups(self.buckets))], schema=DELIVERED)

    def _publishers(self, parts: pa.Table) -> Iterator[Iterable[JudgedPublication]]:
        """The publications of each publisher in each variant, the latest first, with the gaps found in them, and
        weighed.

        A gap, and a recovery from a fault, show only to one who knows the beginning. So publishers are read twice, in
        step, where routing promises to be gapless and where faults may have cost publications.
        """
        again = groupby(decode_judged(parts), _publisher)
        for (variant, publisher), of_publisher in groupby(decode_judged(parts), _publisher):
            context = self.variants[variant]
            evidence = context.evidence
            if not context.promises.gapless and not evidence.losses:
                yield weighed(of_publisher, evidence, _NO_RECOVERIES)
                continue
            same = next(publications for name, publications in again if name == (variant, publisher))
            if context.promises.gapless:
                with_duties = with_gaps(of_publisher, Starts.of(same, context.session_breaks), context.lost_ranges)
                yield weighed(with_duties, evidence, _NO_RECOVERIES)
            else:
                yield weighed(of_publisher, evidence, Recoveries.of(same, evidence.losses))

    def _counted(self, publications: Iterable[JudgedPublication], tally: PublisherTally) -> Iterator[JudgedPublication]:
        """Passes publications on, and counts them for each fault and for the delivery ratio."""
        for judged in publications:
            variant = self.variants[judged.variant]
            if self.parts is not None:
                tally.faults.add(judged, variant.faults)
            if variant.promises.delivery is Completeness.BEST_EFFORT:
                tally.due.add(judged)
            yield judged


_NO_RECOVERIES = Recoveries()


def _publisher(judged: JudgedPublication) -> tuple[int, str | None]:
    return judged.variant, judged.publisher


_Moment = tuple[int, int]
"""A time, and a position in the log that orders what happened at that time."""
_NEVER: _Moment = FOREVER, 0
_Sequence = tuple[str, int | None, str | None]
"""A client, the handovers behind it, and the broker of the publisher: all that its notifications have an order in."""


class _Order(msgspec.Struct, frozen=True):
    """The order of a client's first notification of a publication among the publisher's others."""

    later_arrived: _Moment
    """The moment at which the first of its publisher's later publications reached the client."""
    overtaken: bool
    reordered: bool
    """Overtaken by a publication on the same tree, though the client must get both."""

    def violates(self, promised: Order) -> bool:
        return self.overtaken if promised is Order.PUBLISHER else self.reordered and promised is Order.ADVERTISEMENT


def _with_order(
    of_publisher: Iterable[JudgedPublication],
) -> Iterator[tuple[JudgedPublication, PublicationOutcome, _Order]]:
    """The outcomes of a publisher's publications, the latest first: a notification was overtaken when it came after the
    first arrival of a later publication that was made at the same broker, with as many handovers behind it that may
    cost the order."""
    first_of_any: dict[_Sequence, _Moment] = {}
    first_on_tree: dict[tuple[_Sequence, int], _Moment] = {}
    for judged in of_publisher:
        for outcome in judged.outcomes:
            sequence = outcome.client, outcome.handovers, judged.origin
            later = first_of_any.get(sequence, _NEVER)
            if not outcome.receipts or judged.published is None or outcome.handovers is None:
                yield judged, outcome, _Order(later, False, False)
                continue
            arrived = _moment(outcome.receipts[0])
            reordered = False
            if judged.tree is not None and outcome.right is Right.MUST and not outcome.struck:
                on_tree = sequence, judged.tree
                later_on_tree = first_on_tree.get(on_tree, _NEVER)
                reordered = later_on_tree < arrived
                first_on_tree[on_tree] = min(arrived, later_on_tree)
            first_of_any[sequence] = min(arrived, later)
            yield judged, outcome, _Order(later, later < arrived, reordered)


def _moment(receipt: Receipt) -> _Moment:
    return receipt.notified, receipt.position


def _defect(outcome: PublicationOutcome, reordered: bool) -> Defect | None:
    got = len(outcome.receipts)
    if outcome.right is Right.NONE:
        return Defect.SPURIOUS
    if got > 1 and not outcome.doubled:
        return Defect.DUPLICATED
    if outcome.is_lost:
        return Defect.LOST
    return Defect.REORDERED if reordered else None


def _expectation(
    variant: VariantContext, judged: JudgedPublication, outcome: PublicationOutcome, defect: Defect | None
) -> Expectation:
    return Expectation(
        variant=variant.name,
        publication=judged.publication,
        client=outcome.client,
        right=outcome.right.value,
        notifications=len(outcome.receipts),
        defect=None if defect is None else defect.value,
        cause=None if outcome.cause is None else outcome.cause.value,
        excuse=outcome.excuse,
        evidence=outcome.evidence,
        not_judged=outcome.not_judged,
        last_seen=outcome.last_seen if defect is Defect.LOST else None,
        publisher=judged.publisher,
        published_ns=judged.published,
    )


def _notifications(
    variant: VariantContext, judged: JudgedPublication, outcome: PublicationOutcome, order: _Order
) -> Iterator[Notification]:
    for repeat, receipt in enumerate(outcome.receipts):
        yield Notification(
            variant=variant.name,
            publication=judged.publication,
            client=outcome.client,
            repeat=repeat,
            publisher=judged.publisher,
            broker=receipt.broker,
            intended_ns=judged.intended,
            published_ns=judged.published,
            notified_ns=receipt.notified,
            delay_ms=_delay(judged, receipt),
            hops=receipt.hops,
            queueing_ms=None if receipt.waited is None else receipt.waited / MILLISECOND,
            path=None if receipt.path is None else list(receipt.path),
            second=second_due(judged.intended, variant.run_start),
            overtaken=judged.published is not None and order.later_arrived < _moment(receipt),
        )


def _delay(judged: JudgedPublication, receipt: Receipt) -> float | None:
    return None if judged.intended is None else (receipt.notified - judged.intended) / MILLISECOND
