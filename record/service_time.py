"""Time that a server takes for each message: a distribution, and draws from it.

Brokers that emulate slower hardware have one, and so have links on which sending a message takes time.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from random import Random

import msgspec

from record.time_units import SECOND


class Distribution(enum.StrEnum):
    """Shapes of a service time."""

    CONSTANT = "constant"
    UNIFORM = "uniform"
    EXPONENTIAL = "exponential"
    LOGNORMAL = "lognormal"


SHORTEST, LONGEST = 1e-9, 86_400.0
"""Seconds: a clock's resolution, and a day. Far beyond a day the arithmetic of distributions overflows."""

NEEDS_DEVIATION = frozenset({Distribution.UNIFORM, Distribution.LOGNORMAL})
"""The shapes whose width is free; a constant has no width, and that of an exponential distribution is its mean."""


class SendingOrder(enum.StrEnum):
    """The order in which a broker sends over its links where that takes time."""

    SIDE_BY_SIDE = "side-by-side"
    """Each link sends its own messages one after the other."""
    IN_TURN = "in-turn"
    """The broker sends one message after the other, whatever their links."""


class ServiceTime(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Time of work added to each message. Messages are served one at a time, in the order they came in."""

    mean: float = 0.0
    """Seconds."""
    distribution: Distribution = Distribution.CONSTANT
    deviation: float = 0.0
    """Seconds: half the width of a uniform distribution, the standard deviation of a lognormal one, else 0."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for a time that could be negative, and for a deviation missing or without meaning."""
        if not 0.0 <= self.mean < math.inf:
            raise ValueError(f"mean: a time is 0 or more seconds, not {self.mean:g}")
        if self.mean and not SHORTEST <= self.mean <= LONGEST:
            raise ValueError(f"mean: a time is a nanosecond at least and a day at most, not {self.mean:g} s")
        if self.distribution in NEEDS_DEVIATION:
            if not 0.0 < self.deviation < math.inf:
                raise ValueError(f"deviation: a {self.distribution} time needs one above 0")
            if self.deviation > LONGEST:
                raise ValueError(f"deviation: a day at most, not {self.deviation:g} s")
            if self.mean <= 0.0:
                raise ValueError(f"mean: a {self.distribution} time needs one above 0")
            if self.distribution is Distribution.UNIFORM and self.deviation > self.mean:
                raise ValueError("deviation: above the mean, so that times could be negative")
        elif self.deviation:
            raise ValueError(f"deviation: {self.distribution} times have none of their own")

    def __bool__(self) -> bool:
        return self.mean > 0.0

    def sampler(self, random: Random) -> Callable[[], int]:
        """Draws service times in nanoseconds, one after another, all randomness coming from `random`."""
        mean, deviation = self.mean * SECOND, self.deviation * SECOND
        if self.distribution is Distribution.CONSTANT or not mean:
            constant = round(mean)
            return lambda: constant
        if self.distribution is Distribution.UNIFORM:
            return lambda: round(random.uniform(mean - deviation, mean + deviation))
        if self.distribution is Distribution.EXPONENTIAL:
            return lambda: round(random.expovariate(1 / mean))
        variance = math.log1p((deviation / mean) ** 2)
        location, scale = math.log(mean) - variance / 2, math.sqrt(variance)
        return lambda: round(random.lognormvariate(location, scale))
