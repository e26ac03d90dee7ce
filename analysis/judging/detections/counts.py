"""Counts of the oracle's findings on the detections of a variant, with their delays and examples of defects."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial

from analysis.judging.detections.oracle import JudgedDetection
from analysis.judging.examples import FoundExamples
from analysis.tables.deliveries import Cause, Right
from analysis.tables.detections import DetectionDefect, DetectionDelays, DetectionFigures
from analysis.tables.histogram import DurationHistogram, Durations, class_of
from analysis.tables.power import ordered
from record.time_units import MILLISECOND


@dataclass(slots=True)
class DetectionCounts:
    """The oracle's findings over the sets of publications in one variant."""

    expected: int = 0
    delivered: int = 0
    optional: int = 0
    forgone: int = 0
    excused: Counter[str] = field(default_factory=Counter)
    """Sets by their excuse."""
    not_judged: Counter[str] = field(default_factory=Counter)
    """Sets by the reason why they cannot be judged."""
    lost: int = 0
    dropped: int = 0
    duplicate: int = 0
    spurious: int = 0
    spurious_causes: Counter[str] = field(default_factory=Counter)
    delays: DurationHistogram = field(default_factory=DurationHistogram)
    """Of first notifications."""

    def add(self, judged: JudgedDetection) -> None:
        got = len(judged.notified)
        self.delivered += got
        self.duplicate += max(got - judged.lifetimes, 0)
        if judged.right is Right.MUST:
            self.expected += 1
            self.lost += judged.is_lost
            self.dropped += judged.is_lost and bool(judged.drops)
            if judged.weighed is not None and judged.weighed.excuse is not None:
                self.excused[judged.weighed.excuse.kind] += 1
            elif judged.weighed is not None and judged.weighed.not_judged is not None:
                self.not_judged[judged.weighed.not_judged] += 1
            self.optional += max(min(got, judged.lifetimes) - 1, 0)
        else:
            self.optional += min(got, judged.lifetimes)
            self.forgone += not got
        if got:
            delay = max(judged.notified[0].time - judged.intended, 1)
            self.delays.add(class_of(delay), Durations(1, delay, delay))

    def add_spurious(self, cause: Cause) -> None:
        """Adds the notification of a set that is no detection."""
        self.delivered += 1
        self.spurious += 1
        self.spurious_causes[cause.value] += 1

    def merge(self, other: DetectionCounts) -> None:
        self.expected += other.expected
        self.delivered += other.delivered
        self.optional += other.optional
        self.forgone += other.forgone
        self.excused.update(other.excused)
        self.not_judged.update(other.not_judged)
        self.lost += other.lost
        self.dropped += other.dropped
        self.duplicate += other.duplicate
        self.spurious += other.spurious
        for number, durations in other.delays.classes.items():
            self.delays.add(number, durations)
        self.spurious_causes.update(other.spurious_causes)

    def defects(self) -> list[DetectionDefect]:
        """The defects that were found."""
        found = {
            DetectionDefect.LOST: self.lost,
            DetectionDefect.DUPLICATED: self.duplicate,
            DetectionDefect.SPURIOUS: self.spurious,
        }
        return [defect for defect, count in found.items() if count]

    def figures(self, composites: int) -> DetectionFigures:
        """The part of the summary, given the number of composite subscriptions."""
        delays = self.delays
        p50, p95, p99 = (
            (delays.quantile(share) / MILLISECOND if delays.count else None) for share in (0.5, 0.95, 0.99)
        )
        return DetectionFigures(
            composites=composites,
            expected=self.expected,
            delivered=self.delivered,
            optional=self.optional,
            forgone=self.forgone,
            excused=ordered(self.excused),
            not_judged=ordered(self.not_judged),
            lost=self.lost,
            dropped=self.dropped,
            duplicate=self.duplicate,
            spurious=self.spurious,
            spurious_causes=dict(sorted(self.spurious_causes.items())),
            mean_ms=delays.mean / MILLISECOND if delays.count else None,
            p50_ms=p50,
            p95_ms=p95,
            p99_ms=p99,
            max_ms=delays.largest / MILLISECOND if delays.count else None,
        )

    def delay_classes(self, variant: str) -> list[DetectionDelays]:
        """The rows of the table `detection_delays` of a variant."""
        return [
            DetectionDelays(
                variant=variant,
                lower_ms=10 ** (number / self.delays.per_decade) / MILLISECOND,
                upper_ms=10 ** ((number + 1) / self.delays.per_decade) / MILLISECOND,
                notifications=durations.count,
            )
            for number, durations in sorted(self.delays.classes.items())
        ]


@dataclass(slots=True)
class DetectionTally:
    """Counts made of detections."""

    counts: defaultdict[int, DetectionCounts] = field(default_factory=partial(defaultdict, DetectionCounts))
    """By variant."""
    examples: FoundExamples = field(default_factory=FoundExamples)

    def merge(self, other: DetectionTally) -> None:
        for variant, counts in other.counts.items():
            self.counts[variant].merge(counts)
        self.examples.merge(other.examples)
