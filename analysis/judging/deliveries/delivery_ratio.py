"""The delivery ratio of a best-effort protocol, its confidence interval, its course over time, and by receivers.

1. The ratio is over *due* pairs of a publication and a client, those that a protocol which promises every publication
   would have to notify: notified due pairs by due pairs.
2. The pairs of one publication are not independent, because it takes one course for all of them. So an interval over
   pairs would be far too narrow. Publications are taken in order of time instead, in `BATCHES` batches of equally many;
   batches that long are nearly independent of each other.
3. The interval is Student's t over the batches. Batches may have different numbers of due pairs, so the ratio is
   estimated as a ratio of two means (Cochran, Sampling Techniques, 3rd edition, section 6.3). With equal numbers that
   is the mean of the batches' ratios with its usual interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import iadd
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.judging.judged import JudgedPublication
from analysis.run_files.time_units import second_due
from analysis.tables.deliveries import DeliveryByReceivers, DeliveryOverTime, Right
from analysis.tables.student import student_t
from analysis.tables.totals import Rows, Tally
from record.manifest import VariantRecord

BATCHES = 20

_Column = Annotated[list[int], iadd]
_DUE = (Right.MUST, Right.DUE)
_Rows = NDArray[np.int64]
"""A row a publication: time of publishing, due pairs, notified due pairs."""


@dataclass(frozen=True, slots=True)
class DeliveryRatio:
    """The share of due pairs that were notified, with its 95% confidence interval."""

    ratio: float
    low: float | None
    """Lower end of the interval; None for fewer than `BATCHES` publications, because so few give no estimate of
    chance."""
    high: float | None


class DuePairs(msgspec.Struct):
    """The due pairs of each publication of a variant that has any, in columns because there are so many."""

    variant: int
    published: _Column = []
    """Times of publishing."""
    due: _Column = []
    notified: _Column = []


@dataclass(slots=True)
class DueTally(Tally):
    """The due pairs of all variants."""

    pairs: Rows[DuePairs] = field(default_factory=partial(Rows, DuePairs))

    def add(self, judged: JudgedPublication) -> None:
        received = [len(outcome.receipts) > 0 for outcome in judged.outcomes if outcome.right in _DUE]
        if received and judged.published is not None:
            pairs = self.pairs.of(judged.variant)
            pairs.published.append(judged.published)
            pairs.due.append(len(received))
            pairs.notified.append(sum(received))

    def ratio(self, variant: int) -> DeliveryRatio | None:
        """The delivery ratio of a variant; None where nothing was due."""
        rows = self._in_order_of_time(variant)
        return _ratio(rows) if len(rows) else None

    def over_time(self, variants: Sequence[VariantRecord]) -> Iterator[DeliveryOverTime]:
        """The ratio in each second in which a publication was due somewhere, by variant."""
        for number, variant in enumerate(variants):
            due: Counter[int | None] = Counter()
            notified: Counter[int | None] = Counter()
            for published, of_publication, received in self._in_order_of_time(number).tolist():
                second = second_due(published, variant.run_start)
                due[second] += of_publication
                notified[second] += received
            yield from _seconds(variant.name, due, notified)

    def by_receivers(self, variants: Sequence[str]) -> Iterator[DeliveryByReceivers]:
        """The ratio of publications that were due to equally many clients, by variant and number of clients."""
        for number, name in enumerate(variants):
            rows = self._in_order_of_time(number)
            for receivers in np.unique(rows[:, 1]).tolist():
                notified = rows[rows[:, 1] == receivers, 2]
                due, received = receivers * len(notified), int(notified.sum())
                yield DeliveryByReceivers(
                    variant=name,
                    receivers=receivers,
                    publications=len(notified),
                    due=due,
                    notified=received,
                    ratio=received / due,
                )

    def _in_order_of_time(self, variant: int) -> _Rows:
        """Rows of the same time are ordered by their numbers, so that every engine puts them into the same batch."""
        pairs = self.pairs.of(variant)
        rows = np.array((pairs.published, pairs.due, pairs.notified), dtype=np.int64).T
        return rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]


def _seconds(
    variant: str, due: Mapping[int | None, int], notified: Mapping[int | None, int]
) -> Iterator[DeliveryOverTime]:
    for second, pairs in due.items():
        if second is not None:
            received = notified[second]
            yield DeliveryOverTime(variant=variant, second=second, due=pairs, notified=received, ratio=received / pairs)


def _ratio(rows: _Rows) -> DeliveryRatio:
    due, notified = int(rows[:, 1].sum()), int(rows[:, 2].sum())
    ratio = notified / due
    if len(rows) < BATCHES:
        return DeliveryRatio(ratio, None, None)
    bounds = [len(rows) * number // BATCHES for number in range(BATCHES)]
    batches = np.add.reduceat(rows[:, 1:], bounds, axis=0).tolist()
    squares = math.fsum((received - ratio * pairs) ** 2 for pairs, received in batches)
    half = student_t(BATCHES - 1) * math.sqrt(squares / (BATCHES * (BATCHES - 1))) / (due / BATCHES)
    return DeliveryRatio(ratio, max(0.0, ratio - half), min(1.0, ratio + half))
