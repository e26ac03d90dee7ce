"""Counts of the oracle's findings on the deliveries of a variant."""

from __future__ import annotations

import msgspec

from analysis.judging.judged import PublicationOutcome
from analysis.tables.deliveries import Right
from analysis.tables.reasons import Reasons, count
from analysis.tables.totals import Sum


class DeliveryCounts(msgspec.Struct):
    """The oracle's findings over the pairs of a publication and a client in one variant."""

    variant: int
    expected: Sum = 0
    """Pairs with the right `must`."""
    delivered: Sum = 0
    optional: Sum = 0
    excused: Reasons = []
    """Pairs by their excuse."""
    not_judged: Reasons = []
    """Pairs by the reason why they cannot be judged."""
    implied: Sum = 0
    """Pairs that an outage may have struck, by overlay, faults and promises alone."""
    lost: Sum = 0
    due: Sum = 0
    """Pairs with the right `due`."""
    missed: Sum = 0
    """Pairs with the right `due` whose client was not notified."""
    duplicate: Sum = 0
    doubled: Sum = 0
    """Notifications that a client got again because it moved, as routing lets it."""
    spurious: Sum = 0
    reordered: Sum = 0
    overtaken: Sum = 0
    spurious_causes: Reasons = []

    def add(self, outcome: PublicationOutcome, overtaken: bool, reordered: bool) -> None:
        got, right = len(outcome.receipts), outcome.right
        self.delivered += got
        self.overtaken += overtaken
        self.reordered += reordered
        if right is Right.NONE:
            self.spurious += got
            count(self.spurious_causes, str(outcome.cause), got)
            return
        if outcome.doubled:
            self.doubled += got - 1
        else:
            self.duplicate += max(got - 1, 0)
        if right is Right.MUST:
            self.expected += 1
            self.implied += outcome.struck
            self.lost += outcome.is_lost
            if outcome.excuse is not None:
                count(self.excused, outcome.excuse)
            if outcome.not_judged is not None:
                count(self.not_judged, outcome.not_judged)
        elif right is Right.DUE:
            self.due += 1
            self.missed += not got
        else:
            self.optional += got > 0
