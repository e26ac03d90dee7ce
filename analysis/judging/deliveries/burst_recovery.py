"""Recovery from a burst of publications: largest delays of successive notifications, as OctopiA's figures 17 to 20.

All notifications are put in the order in which they came, and cut into groups of equal size. The largest delay of each
group is one point. The overlay is *stable* again once no group has a larger delay than `RETURNED` times the largest
from before the burst.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

RETURNED = 2.0
"""A largest delay within this factor of the largest before the burst is normal again."""


class Point(NamedTuple):
    """A group of successive notifications."""

    came: int
    """The time of its last notification, in nanoseconds of the run's clock."""
    largest: float
    """The largest delay, in milliseconds."""


def largest_delays(came: ArrayLike, delays: ArrayLike, length: int) -> list[Point]:
    """The points of notifications that came at these times (nanoseconds, any order) with these delays (milliseconds).

    The last group has the rest.
    """
    times = np.asarray(came, dtype=np.int64)
    if not len(times):
        return []
    order = np.argsort(times, kind="stable")
    starts = np.arange(0, len(times), length)
    ends = np.minimum(starts + length, len(times)) - 1
    largest = np.maximum.reduceat(np.asarray(delays, dtype=np.float64)[order], starts)
    return [Point(int(time), float(delay)) for time, delay in zip(times[order][ends], largest, strict=True)]


def normal_up_to(points: Sequence[Point], begin: int) -> float | None:
    """The largest delay that is normal, in milliseconds; None where no notification came before the burst."""
    before = [point.largest for point in points if point.came < begin]
    return RETURNED * max(before) if before else None


def stable_after(points: Sequence[Point], begin: int) -> int | None:
    """Nanoseconds from the start of a burst to the last point with a delay that is not normal; 0 where there is none.

    None where it is not known which delay is normal.
    """
    normal = normal_up_to(points, begin)
    if normal is None:
        return None
    late = [point.came for point in points if point.largest > normal]
    return max(0, max(late, default=begin) - begin)
