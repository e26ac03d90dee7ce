"""The power of the delivery verdict on a variant, and the verdicts that follow from it."""

from __future__ import annotations

import msgspec

from analysis.judging.deliveries.counts import DeliveryCounts
from analysis.judging.detections.counts import DetectionCounts
from analysis.tables.power import ENOUGH, Power, ordered
from analysis.tables.reasons import by_reason
from record.manifest import VariantRecord


def power_of(counts: DeliveryCounts) -> Power:
    """The power of a verdict. Pairs that are due by best effort are owed, and judged by their ratio."""
    return Power(
        owed=counts.expected + counts.due,
        excused=ordered(by_reason(counts.excused)),
        not_judged=ordered(by_reason(counts.not_judged)),
        implied=counts.implied,
    )


def proves_nothing(power: Power, detections: DetectionCounts) -> bool:
    """True where no verdict may be `correct`: nothing was owed, or less than half of it was judged.

    Detections of composite subscriptions are owed, too.
    """
    if power.owed:
        return not power.enough
    if detections.expected:
        return by_reason(detections.not_judged).total() > (1 - ENOUGH) * detections.expected
    return not detections.forgone


def below_wanted(power: Power, variant: VariantRecord) -> bool:
    """True where less was judged than the scenario expects (`expect.judged`)."""
    wanted = variant.expected_judged
    return wanted is not msgspec.UNSET and power.share is not None and power.share < wanted
