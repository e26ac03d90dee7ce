"""Per-fault counters of stage 2: the delay of notifications before each fault, and copies dropped while it is
watched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import add
from typing import Annotated

import msgspec

from analysis.judging.histories.faults import FaultTimes
from analysis.judging.journeys.journey import Journey
from analysis.tables.histogram import DurationHistogram, Durations, class_of
from analysis.tables.totals import Rows, Sum, Tally
from record.time_units import MILLISECOND

LATE_FACTOR = 2.0
"""A notification is late when its delay exceeds the 95th percentile of those before the fault by more than this
factor."""

FaultKey = tuple[int, int]
"""The number of a variant, and of a fault in it."""


class MeanDelay(msgspec.Struct, frozen=True):
    """The mean delay of some notifications, summed in whole nanoseconds."""

    count: int = 0
    total: int = 0

    def __add__(self, other: MeanDelay) -> MeanDelay:
        return MeanDelay(self.count + other.count, self.total + other.total)

    @property
    def milliseconds(self) -> float | None:
        return self.total / self.count / MILLISECOND if self.count else None


class DelayBefore(msgspec.Struct):
    """Notifications before a fault whose delays are of one class."""

    variant: int
    fault: int
    number: int
    """Number of the class."""
    delays: Annotated[Durations, add] = Durations()


class FaultDrops(msgspec.Struct):
    """Copies of publications that ended at a broker while a fault was watched."""

    variant: int
    fault: int
    reason: str
    copies: Sum = 0
    shared: Sum = 0
    """Copies among them that a later fault of the same kind counts, too."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The counters of one fault."""

    before: DurationHistogram = field(default_factory=DurationHistogram)
    """Delays of notifications before the fault."""
    drops: list[FaultDrops] = field(default_factory=list)
    """In the order of reasons."""

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


@dataclass(slots=True)
class Baselines(Tally):
    """The counters of all faults near which anything was published."""

    before: Rows[DelayBefore] = field(default_factory=partial(Rows, DelayBefore))
    drops: Rows[FaultDrops] = field(default_factory=partial(Rows, FaultDrops))

    def add(self, variant: int, journey: Journey, faults: FaultTimes) -> None:
        """Counts a publication. Only a client's first notification of it counts."""
        for drop in journey.dropped:
            counted: set[str] = set()
            for number in faults.watched(drop.time, drop.time):
                of_fault, kind = self.drops.of(variant, number, drop.reason), faults.faults[number].kind
                of_fault.copies += 1
                of_fault.shared += kind in counted
                counted.add(kind)
        published = journey.published
        if published is None or published.intended is None:
            return
        soon = faults.soon(published.intended)
        if soon:
            for number in soon:
                for receipts in journey.receipts.values():
                    delay = receipts[0].notified - published.intended
                    self.before.of(variant, number, class_of(delay)).delays += Durations(1, delay, delay)

    def by_fault(self) -> Mapping[FaultKey, Baseline]:
        """The counters of each fault; those of a fault that has none are empty."""
        found: defaultdict[FaultKey, Baseline] = defaultdict(Baseline)
        for before in self.before:
            found[before.variant, before.fault].before.add(before.number, before.delays)
        for drops in self.drops:
            found[drops.variant, drops.fault].drops.append(drops)
        return found

    def late_from(self, variant: int, faults: FaultTimes) -> Sequence[int | None]:
        """`Baseline.late_from` of each fault of a variant."""
        found = self.by_fault()
        return [found[variant, number].late_from for number in range(len(faults.faults))]
