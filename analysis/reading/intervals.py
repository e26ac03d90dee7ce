"""Sets of closed intervals of time, and the questions that are asked of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

FOREVER = 1 << 62
"""Later than any time in a log, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Disjoint closed intervals, in ascending order."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    @classmethod
    def of(cls, intervals: Iterable[tuple[int, int]]) -> Intervals:
        """The union of these intervals."""
        merged: list[list[int]] = []
        for start, end in sorted(intervals):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return cls(tuple(start for start, _ in merged), tuple(end for _, end in merged))

    @classmethod
    def union(cls, *sets: Intervals) -> Intervals:
        """The union of these sets; the only one that is not empty, where that is so."""
        filled = [found for found in sets if found.starts]
        if len(filled) <= 1:
            return filled[0] if filled else NONE
        return cls.of(pair for found in filled for pair in zip(found.starts, found.ends, strict=True))

    @property
    def unending(self) -> int:
        """The start of the interval that never ends; `FOREVER` where each one ends."""
        return self.starts[-1] if self.ends and self.ends[-1] >= FOREVER else FOREVER

    def overlaps(self, start: int, end: int) -> bool:
        """True when some interval has a moment in common with [start, end]."""
        return self._last_end(end) >= start

    def settled(self, since: int, until: int) -> int:
        """The end of an activity that takes from `since` to `until` undisturbed: it also waits for an interval that
        overlaps it."""
        return max(until, self._last_end(until)) if self.overlaps(since, until) else until

    def _last_end(self, time: int) -> int:
        """The end of the last interval that starts at `time` or before; -1 when there is none."""
        number = bisect_right(self.starts, time)
        return self.ends[number - 1] if number else -1


NONE = Intervals()
