"""Per-fault counters of stage 2: the delay of notifications before each fault, and copies dropped while it is
watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from analysis.judging.histories.faults import FaultTimes
from analysis.judging.journeys.journey import Journey
from analysis.tables.histogram import DurationHistogram
from record.time_units import MILLISECOND

LATE_FACTOR = 2.0
"""A notification is late when its delay exceeds the 95th percentile of those before the fault by more than this
factor."""

FaultKey = tuple[int, int]
"""The number of a variant, and of a fault in it."""


@dataclass(slots=True)
class MeanDelay:
    """The mean delay of some notifications, summed in whole nanoseconds."""

    count: int = 0
    total: int = 0

    def add(self, delay: int) -> None:
        self.count += 1
        self.total += delay

    def merge(self, other: MeanDelay) -> None:
        self.count += other.count
        self.total += other.total

    @property
    def milliseconds(self) -> float | None:
        return self.total / self.count / MILLISECOND if self.count else None


@dataclass(slots=True)
class Baseline:
    """The counters of one fault."""

    before: DurationHistogram = field(default_factory=DurationHistogram)
    """Delays of notifications before the fault."""
    drops: dict[str, int] = field(default_factory=dict)
    """Copies of publications that ended at a broker while the fault was watched, by reason."""
    drops_shared: int = 0
    """Copies among them that a later fault of the same kind counts, too."""

    def add_drops(self, reason: str, count: int) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + count

    def merge(self, other: Baseline) -> None:
        self.before.merge(other.before)
        self.drops_shared += other.drops_shared
        for reason, count in other.drops.items():
            self.add_drops(reason, count)

    @property
    def late_from(self) -> int | None:
        """The delay in nanoseconds above which a notification is late; None where none came before the fault.

        The percentile is the upper end of its class, so it is at most an eighth too large.
        """
        return round(LATE_FACTOR * self.before.quantile(0.95)) if self.before.count else None

    @property
    def mean_ms(self) -> float | None:
        """The mean delay before the fault; None where no notification came then."""
        return self.before.mean / MILLISECOND if self.before.count else None


_NOTHING = Baseline()


@dataclass(slots=True)
class Baselines:
    """The counters of all faults near which anything was published."""

    of: dict[FaultKey, Baseline] = field(default_factory=dict)

    def add(self, variant: int, journey: Journey, faults: FaultTimes) -> None:
        """Counts a publication. Only a client's first notification of it counts."""
        for drop in journey.dropped:
            counted: set[str] = set()
            for number in faults.watched(drop.time, drop.time):
                of_fault, kind = self._of(variant, number), faults.faults[number].kind
                of_fault.add_drops(drop.reason, 1)
                of_fault.drops_shared += kind in counted
                counted.add(kind)
        published = journey.published
        if published is None or published.intended is None:
            return
        soon = faults.soon(published.intended)
        if soon:
            for number in soon:
                for receipts in journey.receipts.values():
                    self._of(variant, number).before.add(receipts[0].notified - published.intended)

    def merge(self, other: Baselines) -> None:
        for key, baseline in other.of.items():
            self._of(*key).merge(baseline)

    def late_from(self, variant: int, faults: FaultTimes) -> Sequence[int | None]:
        """`Baseline.late_from` of each fault of a variant."""
        return [self.of.get((variant, number), _NOTHING).late_from for number in range(len(faults.faults))]

    def _of(self, variant: int, number: int) -> Baseline:
        return self.of.setdefault((variant, number), Baseline())
