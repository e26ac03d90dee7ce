"""Per-fault counters of stage 3: notifications that were late, lost or excused while the fault was watched.

A notification is in flight from its publication's publishing until the client gets it; one that never comes, until
`ALLOWANCE_SECONDS` after the publication's last record. A fault strikes the notifications that are in flight while it
is watched (`analysis.judging.histories.faults`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from analysis.judging.fault_effects.baseline import FaultKey, MeanDelay
from analysis.judging.histories.faults import AROUND
from analysis.judging.histories.settling import ALLOWANCE
from analysis.judging.judged import JudgedPublication, PublicationOutcome
from analysis.judging.variant_context import VariantFaults
from analysis.reading.intervals import Intervals
from analysis.tables.deliveries import Right

_MOST_HELD_UP = 10_000
"""Intervals kept before those that overlap are joined."""


@dataclass(slots=True)
class FaultCounts:
    """The counters of one fault, over the notifications that clients must get, and those that they may get and did."""

    publications: int = 0
    due: int = 0
    late: int = 0
    excused: int = 0
    lost: int = 0
    late_shared: int = 0
    """Notifications among the late ones that a later fault of the same kind counts, too; so the next two."""
    excused_shared: int = 0
    lost_shared: int = 0
    missed_last: int = 0
    """The publishing time of the last publication that some client never got; 0 when there is none."""
    held_up: list[tuple[int, int]] = field(default_factory=list)
    """The interval from publishing to notification of each notification that came late and after the heal; overlapping
    intervals are joined."""
    during: MeanDelay = field(default_factory=MeanDelay)
    after: MeanDelay = field(default_factory=MeanDelay)

    def merge(self, other: FaultCounts) -> None:
        self.publications += other.publications
        self.due += other.due
        self.late += other.late
        self.excused += other.excused
        self.lost += other.lost
        self.late_shared += other.late_shared
        self.excused_shared += other.excused_shared
        self.lost_shared += other.lost_shared
        self.missed_last = max(self.missed_last, other.missed_last)
        self.add_held_up(other.held_up)
        self.during.merge(other.during)
        self.after.merge(other.after)

    def add_held_up(self, intervals: Iterable[tuple[int, int]]) -> None:
        self.held_up += intervals
        if len(self.held_up) > _MOST_HELD_UP:
            joined = Intervals.of(self.held_up)
            self.held_up = list(zip(joined.starts, joined.ends, strict=True))

    def recovered(self, healed: int, reconnected: int | None) -> int:
        """The time at which delivery was as before the fault.

        By then, the last publication that some client never got had been published, and all late notifications had come
        of publications that were published before that, before the heal, before the last neighbour was back, or while
        such a late notification was still awaited. A notification that comes late long after, when all was well in
        between, is not attributed to the fault.
        """
        recovered = max(healed, self.missed_last)
        horizon = max(recovered, reconnected or 0)
        for published, notified in sorted(self.held_up):
            if published > horizon:
                break
            recovered, horizon = max(recovered, notified), max(horizon, notified)
        return recovered


@dataclass(slots=True)
class FaultTally:
    """The counters of all faults that struck any notification."""

    of: dict[FaultKey, FaultCounts] = field(default_factory=dict)

    def add(self, judged: JudgedPublication, faults: VariantFaults) -> None:
        """Counts a publication with all its outcomes."""
        if judged.published is None or not faults.times.faults:
            return
        struck: set[int] = set()
        for outcome in judged.outcomes:
            if outcome.right is Right.NONE or (outcome.right is Right.MAY and not outcome.receipts):
                continue
            until = outcome.receipts[0].notified if outcome.receipts else judged.seen_last + ALLOWANCE
            counted: set[tuple[str, str]] = set()
            for number in faults.times.watched(judged.published, until):
                struck.add(number)
                self._add(judged, outcome, number, faults, counted)
        for number in struck:
            self._of(judged.variant, number).publications += 1

    def _add(
        self,
        judged: JudgedPublication,
        outcome: PublicationOutcome,
        number: int,
        faults: VariantFaults,
        counted: set[tuple[str, str]],
    ) -> None:
        """Counts a notification for one of the faults that strike it, which come from the latest to the first.

        `counted` are the kinds of faults and the counters that it was counted in before.
        """
        counts, published = self._of(judged.variant, number), judged.published or 0
        kind = faults.times.faults[number].kind
        counts.due += 1
        if not outcome.receipts:
            excused, lost = outcome.excuse is not None, outcome.is_lost
            counts.excused += excused
            counts.lost += lost
            counts.excused_shared += excused and (kind, "excused") in counted
            counts.lost_shared += lost and (kind, "lost") in counted
            counted |= {(kind, "excused"), (kind, "lost")}
            counts.missed_last = max(counts.missed_last, published)
            return
        if judged.intended is None:
            return
        notified = outcome.receipts[0].notified
        delay, late_from, fault = notified - judged.intended, faults.late_from[number], faults.times.faults[number]
        if late_from is not None and delay > late_from:
            counts.late += 1
            counts.late_shared += (kind, "late") in counted
            counted.add((kind, "late"))
            if notified > fault.healed:
                counts.add_held_up([(published, notified)])
        if fault.begin <= judged.intended < fault.healed:
            counts.during.add(delay)
        elif fault.healed <= judged.intended < fault.healed + AROUND:
            counts.after.add(delay)

    def merge(self, other: FaultTally) -> None:
        for key, counts in other.of.items():
            self._of(*key).merge(counts)

    def _of(self, variant: int, number: int) -> FaultCounts:
        return self.of.setdefault((variant, number), FaultCounts())
