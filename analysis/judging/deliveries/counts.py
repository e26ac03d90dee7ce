"""Counts of the oracle's findings on the deliveries of a variant."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from analysis.judging.judged import PublicationOutcome
from analysis.tables.deliveries import Right


@dataclass(slots=True)
class DeliveryCounts:
    """The oracle's findings over the pairs of a publication and a client in one variant."""

    expected: int = 0
    """Pairs with the right `must`."""
    delivered: int = 0
    optional: int = 0
    excused: Counter[str] = field(default_factory=Counter)
    """Pairs by their excuse."""
    not_judged: Counter[str] = field(default_factory=Counter)
    """Pairs by the reason why they cannot be judged."""
    implied: int = 0
    """Pairs that an outage may have struck, by overlay, faults and promises alone."""
    lost: int = 0
    due: int = 0
    """Pairs with the right `due`."""
    missed: int = 0
    """Pairs with the right `due` whose client was not notified."""
    duplicate: int = 0
    spurious: int = 0
    reordered: int = 0
    overtaken: int = 0
    spurious_causes: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: PublicationOutcome, overtaken: bool, reordered: bool) -> None:
        got, right = len(outcome.receipts), outcome.right
        self.delivered += got
        self.overtaken += overtaken
        self.reordered += reordered
        if right is Right.NONE:
            self.spurious += got
            self.spurious_causes[str(outcome.cause)] += got
            return
        self.duplicate += max(got - 1, 0)
        if right is Right.MUST:
            self.expected += 1
            self.implied += outcome.struck
            self.lost += outcome.is_lost
            if outcome.excuse is not None:
                self.excused[outcome.excuse] += 1
            if outcome.not_judged is not None:
                self.not_judged[outcome.not_judged] += 1
        elif right is Right.DUE:
            self.due += 1
            self.missed += not got
        else:
            self.optional += got > 0

    def merge(self, other: DeliveryCounts) -> None:
        self.expected += other.expected
        self.delivered += other.delivered
        self.optional += other.optional
        self.excused.update(other.excused)
        self.not_judged.update(other.not_judged)
        self.implied += other.implied
        self.lost += other.lost
        self.due += other.due
        self.missed += other.missed
        self.duplicate += other.duplicate
        self.spurious += other.spurious
        self.reordered += other.reordered
        self.overtaken += other.overtaken
        self.spurious_causes.update(other.spurious_causes)
