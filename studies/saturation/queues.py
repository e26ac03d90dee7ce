"""The course of the output queues of a run, by which a load is told from one under which queues grow.

A queue that grows at a constant rate holds 1.7 times as much in the last third of a run as in the middle one; one that
only follows its workload holds as much in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

import msgspec

from analysis.tables.traffic import QueueLength

_GROWTH = 1.5
"""Ratio of the last third to the middle one from which on queues grow."""
_LEAST = 5.0
"""Messages by which the last third exceeds the middle one at least; fewer come and go."""


class QueueCourse(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that waited in all output queues together."""

    middle: float
    """The mean over the seconds of the middle third of the run phase."""
    last: float
    """The mean over those of the last third."""

    @property
    def grows(self) -> bool:
        """True for queues that did not stop growing."""
        return self.last > _GROWTH * self.middle and self.last - self.middle > _LEAST

    @classmethod
    def of(cls, rows: Iterable[QueueLength], seconds: int) -> QueueCourse:
        """The course in a run phase of so many seconds. A queue without a row in a second is as in the one before."""
        totals = [0] * seconds
        by_queue: dict[tuple[str, str], dict[int, int]] = {}
        for row in rows:
            by_queue.setdefault((row.broker, row.neighbour), {})[row.second] = row.queue
        for lengths in by_queue.values():
            length = next((lengths[second] for second in sorted(lengths, reverse=True) if second < 0), 0)
            for second in range(seconds):
                length = lengths.get(second, length)
                totals[second] += length
        third = max(seconds // 3, 1)
        return cls(middle=_mean(totals[third : 2 * third]), last=_mean(totals[-third:]))


def _mean(values: list[int]) -> float:
    return fmean(values) if values else 0.0
