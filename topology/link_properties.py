"""A link between two brokers, and the properties to emulate on each of its directions.

The processes that carry a link's frames need this and nothing else of an overlay. It imports no library but the one
that reads their messages, so that they start quickly.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from record.service_time import ServiceTime

BrokerId = str

LONGEST_DELAY = 86_400.0
"""Seconds: a day. Beyond, a delay is a mistake, and nanoseconds overflow before long."""


class OverlayError(ValueError):
    """An impossible overlay: the message names the broker or link and what is wrong with it."""


class JitterDistribution(enum.StrEnum):
    """Distribution of a frame's delay around the link's delay."""

    NORMAL = "normal"
    UNIFORM = "uniform"
    PARETO = "pareto"


@dataclass(frozen=True, slots=True, order=True)
class LinkDirection:
    """One direction of a link: what `source` sends to `target`."""

    source: BrokerId
    target: BrokerId

    @property
    def reverse(self) -> LinkDirection:
        return LinkDirection(self.target, self.source)

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"


@dataclass(frozen=True, slots=True)
class LinkProperties:
    """One direction of a link."""

    delay: float = 0.0
    """One-way, mean, in seconds."""
    jitter: float = 0.0
    """Standard deviation of the delay (half-width, for the uniform distribution), in seconds."""
    distribution: JitterDistribution = JitterDistribution.NORMAL
    loss: float = 0.0
    """Share of frames lost, 0 to 1."""
    rate: float | None = None
    """Bits per second; unlimited when None."""
    queue_limit: int = 1000
    """Largest number of frames queued for the rate limit; further ones are dropped."""
    send_time: ServiceTime = ServiceTime()  # noqa: RUF009 - immutable
    """Time for which the source is occupied by sending one message, before it begins with the next."""

    def __post_init__(self) -> None:
        for name, value in (("delay", self.delay), ("jitter", self.jitter)):
            if not 0 <= value < math.inf:
                raise OverlayError(f"a link's {name} must be zero or more seconds, not {value}")
            if value > LONGEST_DELAY:
                raise OverlayError(f"a link's {name} must be a day at most, not {value:g} s")
        if not 0 <= self.loss <= 1:
            raise OverlayError(f"a link's loss must be a share from 0 to 1, not {self.loss}")
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise OverlayError(f"a link's rate must be more than 0 bits per second, not {self.rate}")
        if self.queue_limit < 1:
            raise OverlayError(f"a link's queue limit must be at least one frame, not {self.queue_limit}")


@dataclass(frozen=True, slots=True)
class Link:
    """An overlay link between two brokers."""

    a: BrokerId
    b: BrokerId
    forward: LinkProperties = LinkProperties()
    """Properties of the direction from a to b."""
    backward: LinkProperties = LinkProperties()
    """Properties of the direction from b to a."""

    @property
    def directions(self) -> tuple[tuple[BrokerId, BrokerId], tuple[BrokerId, BrokerId]]:
        """Source and target of both directions, that from a to b first."""
        return (self.a, self.b), (self.b, self.a)

    def properties_from(self, source: BrokerId) -> LinkProperties:
        """Properties of the direction from one of its two ends to the other."""
        return self.forward if source == self.a else self.backward
