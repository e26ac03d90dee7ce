"""What is counted for each fault when the publications of a publisher are finished: whom it held up, what it cost.

A notification is under way from its publication's publishing until the client gets it; one that never comes, until
`SETTLE_SECONDS` after anything was last logged of the publication. A fault strikes those that are under way while it is
watched (`analysis.judging.faults`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from analysis.judging.fault_baseline import FaultKey, MeanDelay
from analysis.judging.faults import AROUND, FaultTimes
from analysis.judging.judging import Judged, Outcome
from analysis.judging.oracle import SETTLE
from analysis.reading.intervals import Intervals
from analysis.tables.tables import Right

_HELD_UP_AT_ONCE = 10_000


@dataclass(slots=True)
class FaultCounts:
    """Of one fault, over the notifications that clients must or may get."""

    publications: int = 0
    due: int = 0
    late: int = 0
    excused: int = 0
    lost: int = 0
    missed_last: int = 0
    """When the last publication was published that a client never got; 0: none."""
    held_up: list[tuple[int, int]] = field(default_factory=list)
    """From the publishing to the notification, of those that came late and after the heal; what overlaps is joined."""
    during: MeanDelay = field(default_factory=MeanDelay)
    after: MeanDelay = field(default_factory=MeanDelay)

    def merge(self, other: FaultCounts) -> None:
        self.publications += other.publications
        self.due += other.due
        self.late += other.late
        self.excused += other.excused
        self.lost += other.lost
        self.missed_last = max(self.missed_last, other.missed_last)
        self.add_held_up(other.held_up)
        self.during.merge(other.during)
        self.after.merge(other.after)

    def add_held_up(self, stretches: Iterable[tuple[int, int]]) -> None:
        self.held_up += stretches
        if len(self.held_up) > _HELD_UP_AT_ONCE:
            joined = Intervals.of(self.held_up)
            self.held_up = list(zip(joined.starts, joined.ends, strict=True))

    def recovered(self, healed: int, reconnected: int | None) -> int:
        """When delivery was as before.

        That is when the last was published that a client never got, and all had come that came late and was published
        before that, before the heal, before the last neighbour was back, or while such a late one was still awaited.
        One that comes late long after, when all was well in between, is none of the fault's.
        """
        recovered = max(healed, self.missed_last)
        horizon = max(recovered, reconnected or 0)
        for published, notified in sorted(self.held_up):
            if published > horizon:
                break
            recovered, horizon = max(recovered, notified), max(horizon, notified)
        return recovered


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
            counts.missed_last = max(counts.missed_last, published)
            return
        if one.intended is None:
            return
        notified = outcome.receipts[0].notified
        delay, late_from, fault = notified - one.intended, faults.late_from[number], faults.times.faults[number]
        if late_from is not None and delay > late_from:
            counts.late += 1
            if notified > fault.healed:
                counts.add_held_up([(published, notified)])
        if fault.begin <= one.intended < fault.healed:
            counts.during.add(delay)
        elif fault.healed <= one.intended < fault.healed + AROUND:
            counts.after.add(delay)

    def merge(self, other: FaultTally) -> None:
        for key, counts in other.of.items():
            self._of(*key).merge(counts)

    def _of(self, variant: int, number: int) -> FaultCounts:
        return self.of.setdefault((variant, number), FaultCounts())
