"""What is counted for each fault while publications are judged: how delay was before it, and what was dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from analysis.judging.faults import FaultTimes
from analysis.judging.journeys import Journey
from analysis.run_files.phases import MILLISECOND
from analysis.tables.histogram import DurationClasses

LATE_FACTOR = 2.0
"""A notification is late when its delay is more than so many times the 95th percentile of those before the fault."""

FaultKey = tuple[int, int]
"""A variant's number, and that of a fault in it."""


@dataclass(slots=True)
class MeanDelay:
    """Of some notifications, added up in whole nanoseconds."""

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
    """Of one fault."""

    before: DurationClasses = field(default_factory=DurationClasses)
    """Delays of notifications before the fault."""
    drops: dict[str, int] = field(default_factory=dict)
    """Copies of publications that ended at a broker while the fault was watched, by reason."""

    def add_drops(self, reason: str, count: int) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + count

    def merge(self, other: Baseline) -> None:
        self.before.merge(other.before)
        for reason, count in other.drops.items():
            self.add_drops(reason, count)

    @property
    def late_from(self) -> int | None:
        """The delay in nanoseconds above which a notification is late; null where none came before the fault.

        The percentile is the upper end of its class, so it is at most an eighth too large.
        """
        return round(LATE_FACTOR * self.before.quantile(0.95)) if self.before.count else None

    @property
    def mean_ms(self) -> float | None:
        """Delay before the fault; null where nothing came then."""
        return self.before.mean / MILLISECOND if self.before.count else None


_NOTHING = Baseline()


@dataclass(slots=True)
class Baselines:
    """Of all faults near which anything was published."""

    of: dict[FaultKey, Baseline] = field(default_factory=dict)

    def add(self, variant: int, journey: Journey, faults: FaultTimes) -> None:
        """Takes a publication. Only a client's first notification counts."""
        for drop in journey.dropped:
            for number in faults.watched(drop.time, drop.time):
                self._of(variant, number).add_drops(drop.reason, 1)
        published = journey.published
        if published is None or published.intended is None:
            return
        soon = faults.soon(published.intended)
        if soon:
            first = {one.client: one.time for one in reversed(journey.notified)}
            for number in soon:
                for time in first.values():
                    self._of(variant, number).before.add(time - published.intended)

    def merge(self, other: Baselines) -> None:
        for key, baseline in other.of.items():
            self._of(*key).merge(baseline)

    def late_from(self, variant: int, faults: FaultTimes) -> Sequence[int | None]:
        """`Baseline.late_from` of each fault of a variant."""
        return [self.of.get((variant, number), _NOTHING).late_from for number in range(len(faults.faults))]

    def _of(self, variant: int, number: int) -> Baseline:
        return self.of.setdefault((variant, number), Baseline())
