"""Per-fault counters of stage 3: notifications that were late, lost or excused while the fault was watched.

A notification is in flight from its publication's publishing until the client gets it; one that never comes, until
`ALLOWANCE_SECONDS` after the publication's last record. A fault strikes the notifications that are in flight while it
is watched (`analysis.judging.histories.faults`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from operator import add
from typing import Annotated

import msgspec

from analysis.judging.fault_effects.baseline import MeanDelay
from analysis.judging.histories.faults import AROUND
from analysis.judging.histories.settling import ALLOWANCE
from analysis.judging.judged import JudgedPublication, PublicationOutcome
from analysis.judging.variant_context import VariantFaults
from analysis.reading.intervals import Intervals
from analysis.tables.deliveries import Right
from analysis.tables.totals import Largest, Rows, Sum, Tally

_MOST_HELD_UP = 10_000
"""Intervals kept before those that overlap are joined."""


class HeldUp(msgspec.Struct, frozen=True, order=True):
    """The interval from publishing to notification of a notification that came late and after the heal, or of several
    whose intervals overlap."""

    published: int
    notified: int


def joined(one: list[HeldUp], other: list[HeldUp]) -> list[HeldUp]:
    """All intervals, those that overlap as one."""
    intervals = Intervals.of((held.published, held.notified) for held in (*one, *other))
    return [HeldUp(*ends) for ends in zip(intervals.starts, intervals.ends, strict=True)]


class FaultCounts(msgspec.Struct):
    """The counters of one fault, over the notifications that clients must get, and those that they may get and did."""

    variant: int
    fault: int
    publications: Sum = 0
    due: Sum = 0
    late: Sum = 0
    excused: Sum = 0
    lost: Sum = 0
    late_shared: Sum = 0
    """Notifications among the late ones that a later fault of the same kind counts, too; so the next two."""
    excused_shared: Sum = 0
    lost_shared: Sum = 0
    missed_last: Largest = 0
    """The publishing time of the last publication that some client never got; 0 when there is none."""
    held_up: Annotated[list[HeldUp], joined] = []
    during: Annotated[MeanDelay, add] = MeanDelay()
    after: Annotated[MeanDelay, add] = MeanDelay()

    def add_held_up(self, published: int, notified: int) -> None:
        self.held_up.append(HeldUp(published, notified))
        if len(self.held_up) > _MOST_HELD_UP:
            self.held_up = joined(self.held_up, [])

    def recovered(self, healed: int, reconnected: int | None) -> int:
        """The time at which delivery was as before the fault.

        By then, the last publication that some client never got had been published, and all late notifications had come
        of publications that were published before that, before the heal, before the last neighbour was back, or while
        such a late notification was still awaited. A notification that comes late long after, when all was well in
        between, is not attributed to the fault.
        """
        recovered = max(healed, self.missed_last)
        horizon = max(recovered, reconnected or 0)
        for held in sorted(self.held_up):
            if held.published > horizon:
                break
            recovered, horizon = max(recovered, held.notified), max(horizon, held.notified)
        return recovered


@dataclass(slots=True)
class FaultTally(Tally):
    """The counters of all faults that struck any notification."""

    counts: Rows[FaultCounts] = field(default_factory=partial(Rows, FaultCounts))

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
            self.counts.of(judged.variant, number).publications += 1

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
        counts, published = self.counts.of(judged.variant, number), judged.published or 0
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
                counts.add_held_up(published, notified)
        if fault.begin <= judged.intended < fault.healed:
            counts.during += MeanDelay(1, delay)
        elif fault.healed <= judged.intended < fault.healed + AROUND:
            counts.after += MeanDelay(1, delay)
