"""Counts of the oracle's findings on the detections of a variant, with their delays and examples of defects."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from operator import add
from typing import Annotated

import msgspec

from analysis.judging.detections.oracle import JudgedDetection
from analysis.judging.examples import FoundExamples, found_examples
from analysis.tables.deliveries import Cause, Right
from analysis.tables.detections import DetectionDefect, DetectionDelays, DetectionFigures
from analysis.tables.histogram import DurationHistogram, Durations, class_of
from analysis.tables.power import ordered
from analysis.tables.reasons import Reasons, by_reason, count
from analysis.tables.structs import struct_from
from analysis.tables.totals import Rows, Sum, Tally
from record.time_units import MILLISECOND


class DetectionCounts(msgspec.Struct):
    """The oracle's findings over the sets of publications in one variant."""

    variant: int
    expected: Sum = 0
    delivered: Sum = 0
    optional: Sum = 0
    forgone: Sum = 0
    excused: Reasons = []
    """Sets by their excuse."""
    not_judged: Reasons = []
    """Sets by the reason why they cannot be judged."""
    lost: Sum = 0
    dropped: Sum = 0
    duplicate: Sum = 0
    doubled: Sum = 0
    spurious: Sum = 0
    spurious_causes: Reasons = []

    def add(self, judged: JudgedDetection) -> None:
        got = len(judged.notified)
        self.delivered += got
        if judged.doubled:
            self.doubled += max(got - judged.lifetimes, 0)
        else:
            self.duplicate += max(got - judged.lifetimes, 0)
        if judged.right is Right.MUST:
            self.expected += 1
            self.lost += judged.is_lost
            self.dropped += judged.is_lost and bool(judged.drops)
            if judged.weighed is not None and judged.weighed.excuse is not None:
                count(self.excused, judged.weighed.excuse.kind)
            elif judged.weighed is not None and judged.weighed.not_judged is not None:
                count(self.not_judged, judged.weighed.not_judged)
            self.optional += max(min(got, judged.lifetimes) - 1, 0)
        else:
            self.optional += min(got, judged.lifetimes)
            self.forgone += not got

    def add_spurious(self, cause: Cause) -> None:
        """Adds the notification of a set that is no detection."""
        self.delivered += 1
        self.spurious += 1
        count(self.spurious_causes, cause.value)

    def defects(self) -> list[DetectionDefect]:
        """The defects that were found."""
        found = {
            DetectionDefect.LOST: self.lost,
            DetectionDefect.DUPLICATED: self.duplicate,
            DetectionDefect.SPURIOUS: self.spurious,
        }
        return [defect for defect, count in found.items() if count]

    def figures(self, composites: int, delays: DurationHistogram) -> DetectionFigures:
        """The part of the summary, given the number of composite subscriptions and the delays."""
        p50, p95, p99 = (
            (delays.quantile(share) / MILLISECOND if delays.count else None) for share in (0.5, 0.95, 0.99)
        )
        return struct_from(
            DetectionFigures,
            self,
            composites=composites,
            doubled=self.doubled or msgspec.UNSET,
            excused=ordered(by_reason(self.excused)),
            not_judged=ordered(by_reason(self.not_judged)),
            spurious_causes=dict(by_reason(self.spurious_causes)),
            mean_ms=delays.mean / MILLISECOND if delays.count else None,
            p50_ms=p50,
            p95_ms=p95,
            p99_ms=p99,
            max_ms=delays.largest / MILLISECOND if delays.count else None,
        )


def delay_classes(variant: str, delays: DurationHistogram) -> list[DetectionDelays]:
    """The rows of the table `detection_delays` of a variant."""
    return [
        DetectionDelays(
            variant=variant,
            lower_ms=10 ** (number / delays.per_decade) / MILLISECOND,
            upper_ms=10 ** ((number + 1) / delays.per_decade) / MILLISECOND,
            notifications=durations.count,
        )
        for number, durations in sorted(delays.classes.items())
    ]


class DetectionDelay(msgspec.Struct):
    """First notifications whose delays are of one class."""

    variant: int
    number: int
    """Number of the class."""
    delays: Annotated[Durations, add] = Durations()


@dataclass(slots=True)
class DetectionTally(Tally):
    """Counts made of detections."""

    counts: Rows[DetectionCounts] = field(default_factory=partial(Rows, DetectionCounts))
    delays: Rows[DetectionDelay] = field(default_factory=partial(Rows, DetectionDelay))
    examples: FoundExamples = field(default_factory=found_examples)

    def add(self, variant: int, judged: JudgedDetection) -> None:
        """Counts a set that is a detection."""
        self.counts.of(variant).add(judged)
        if judged.notified:
            delay = max(judged.notified[0].time - judged.intended, 1)
            self.delays.of(variant, class_of(delay)).delays += Durations(1, delay, delay)

    def delays_of(self, variant: int) -> DurationHistogram:
        """The delays of one variant."""
        return DurationHistogram({row.number: row.delays for row in self.delays if row.variant == variant})
