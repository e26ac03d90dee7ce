"""What is counted for each fault when the publications of a publisher are finished: whom it held up, what it cost.

A notification is under way from its publication's publishing until the client gets it; one that never comes, until
`SETTLE_SECONDS` after anything was last logged of the publication. A fault strikes those that are under way while it is
watched (`analysis.faults`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from analysis.fault_baseline import FaultKey, MeanDelay
from analysis.faults import AROUND, FaultTimes
from analysis.judging import Judged, Outcome
from analysis.oracle import SETTLE
from analysis.tables import Right


@dataclass(slots=True)
class FaultCounts:
    """Of one fault, over the notifications that clients must or may get."""

    publications: int = 0
    due: int = 0
    late: int = 0
    excused: int = 0
    lost: int = 0
    disturbed_last: int = 0
    """When the last late notification came, or the last one that never came was published; 0: none."""
    during: MeanDelay = field(default_factory=MeanDelay)
    after: MeanDelay = field(default_factory=MeanDelay)

    def merge(self, other: FaultCounts) -> None:
        self.publications += other.publications
        self.due += other.due
        self.late += other.late
        self.excused += other.excused
        self.lost += other.lost
        self.disturbed_last = max(self.disturbed_last, other.disturbed_last)
        self.during.merge(other.during)
        self.after.merge(other.after)


@dataclass(frozen=True, slots=True)
class VariantFaults:
    """What a variant's notifications are seen against."""

    times: FaultTimes = field(default_factory=FaultTimes)
    late_from: Sequence[int | None] = ()
    """By fault: the delay above which a notification is late, nanoseconds."""


@dataclass(slots=True)
class FaultTally:
    """Of all faults that struck anything."""

    of: dict[FaultKey, FaultCounts] = field(default_factory=dict)

    def add(self, one: Judged, faults: VariantFaults) -> None:
        """Takes a publication with all that became of it."""
        if one.published is None or not faults.times.faults:
            return
        struck: set[int] = set()
        for outcome in one.outcomes:
            if outcome.right is Right.NONE:
                continue
            until = outcome.receipts[0].notified if outcome.receipts else one.seen_last + SETTLE
            for number in faults.times.watched(one.published, until):
                struck.add(number)
                self._add(one, outcome, number, faults)
        for number in struck:
            self._of(one.variant, number).publications += 1

    def _add(self, one: Judged, outcome: Outcome, number: int, faults: VariantFaults) -> None:
        counts, published = self._of(one.variant, number), one.published or 0
        counts.due += 1
        if not outcome.receipts:
            counts.excused += outcome.right is Right.MAY
            counts.lost += outcome.right is Right.MUST
            counts.disturbed_last = max(counts.disturbed_last, published)
            return
        if one.intended is None:
            return
        notified = outcome.receipts[0].notified
        delay, late_from, fault = notified - one.intended, faults.late_from[number], faults.times.faults[number]
        if late_from is not None and delay > late_from:
            counts.late += 1
            counts.disturbed_last = max(counts.disturbed_last, notified)
        if fault.begin <= one.intended < fault.healed:
            counts.during.add(delay)
        elif fault.healed <= one.intended < fault.healed + AROUND:
            counts.after.add(delay)

    def merge(self, other: FaultTally) -> None:
        for key, counts in other.of.items():
            self._of(*key).merge(counts)

    def _of(self, variant: int, number: int) -> FaultCounts:
        return self.of.setdefault((variant, number), FaultCounts())
