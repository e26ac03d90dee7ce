"""How long a burst of publications is felt: largest delays of successive notifications, as OctopiA's figures 17 to 20.

All notifications are put in the order in which they came, and cut into stretches of as many. The largest delay of each
stretch is one point. The overlay is *stable* again once no stretch has a larger delay than `RETURNED` times the largest
from before the burst.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

RETURNED = 2.0
"""A largest delay within this factor of what it was before the burst is normal again."""


class Point(NamedTuple):
    """A stretch of notifications."""

    came: int
    """When its last came, in nanoseconds of the run's clock."""
    largest: float
    """The largest delay, in milliseconds."""


def stretches(came: ArrayLike, delays: ArrayLike, length: int) -> list[Point]:
    """The points of notifications that came at these times (nanoseconds, any order) with these delays (milliseconds).

    The last stretch has what is left.
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
    """The largest delay that is normal, in milliseconds. None where nothing came before the burst: nobody knows."""
    before = [point.largest for point in points if point.came < begin]
    return RETURNED * max(before) if before else None


def stable_after(points: Sequence[Point], begin: int) -> int | None:
    """Nanoseconds from the begin of a burst to the last point with a delay that is not normal; 0 where there is none.

    None where nobody knows what is normal.
    """
    normal = normal_up_to(points, begin)
    if normal is None:
        return None
    late = [point.came for point in points if point.largest > normal]
    return max(0, max(late, default=begin) - begin)
