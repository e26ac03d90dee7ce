"""Draws that several parts of a run need: magnitudes, choices by weight, exact times."""

from __future__ import annotations

import math
from random import Random

from record.time_units import MILLISECOND, SECOND


def magnitude(random: Random, low: float, high: float) -> float:
    """A number between two, all magnitudes alike."""
    return math.exp(random.uniform(math.log(low), math.log(high)))


def whole_magnitude(random: Random, low: int, high: int) -> int:
    """A whole number between two, both included, all magnitudes about alike."""
    return min(high, int(magnitude(random, low, high + 1)))


def milliseconds(number: float) -> int:
    """A number of milliseconds, in nanoseconds."""
    return round(number * MILLISECOND)


def seconds(number: float) -> int:
    """A number of seconds, in nanoseconds."""
    return round(number * SECOND)


def written(nanoseconds: int) -> str:
    """A duration, exact, as scenarios state it."""
    return f"{nanoseconds}ns"
