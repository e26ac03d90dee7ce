"""An overlay: brokers and the links between them, each with the properties it is to be emulated with."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

BrokerId = str
AttributeValue = str | int | float | tuple[int, ...] | tuple[float, ...]


class JitterDistribution(enum.StrEnum):
    """How a frame's delay varies around the link's delay."""

    NORMAL = "normal"
    UNIFORM = "uniform"
    PARETO = "pareto"


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
    """Frames that may wait for the rate limit; what comes on top is dropped."""


@dataclass(frozen=True, slots=True)
class Link:
    """An overlay link between two brokers."""

    a: BrokerId
    b: BrokerId
    forward: LinkProperties = LinkProperties()
    """From a to b."""
    backward: LinkProperties = LinkProperties()
    """From b to a."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker and whatever its overlay says of it: SCOT coordinates, tree level, position."""

    id: BrokerId
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overlay:
    """A broker overlay network."""

    name: str
    brokers: tuple[Broker, ...]
    links: tuple[Link, ...]
