"""An overlay: brokers and the links between them, each with the properties to emulate.

Values check themselves when they are made, so that every `Overlay` is connected and its links have known ends.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx

BrokerId = str
AttributeValue = str | int | float | tuple[int, ...] | tuple[float, ...]

# Broker ids become names of containers, interfaces' aliases and files.
_BROKER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}", re.ASCII)


LONGEST_DELAY = 86_400.0
"""Seconds: a day. Beyond, a delay is a mistake, and nanoseconds overflow before long."""


MOST_BROKERS = 10_000
"""Enough for a simulation; far more than a host has room for."""
MOST_LINKS = 500_000
"""The links of a full mesh of 1,000 brokers."""


class OverlayError(ValueError):
    """An overlay that cannot be: the message names the broker or link and what is wrong with it."""


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


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker and its attributes in the overlay, such as SCOT coordinates, tree level or position."""

    id: BrokerId
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overlay:
    """A broker overlay network: connected, without self-loops or doubled links.

    Raises `OverlayError` when made of anything else.
    """

    name: str
    brokers: tuple[Broker, ...]
    links: tuple[Link, ...]
    _adjacency: Mapping[BrokerId, Mapping[BrokerId, Link]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_adjacency", _adjacency(self.brokers, self.links))
        _require_connected(self.to_networkx())

    def neighbours(self, broker: BrokerId) -> tuple[BrokerId, ...]:
        """The brokers that share a link with this one, in the order of the links. Raises `KeyError` if unknown."""
        return tuple(self._adjacency[broker])

    def link(self, a: BrokerId, b: BrokerId) -> Link:
        """The link between two brokers, in either order of its ends. Raises `KeyError` without one."""
        return self._adjacency[a][b]

    def broker(self, broker: BrokerId) -> Broker:
        """Raises `KeyError` when the overlay has no such broker."""
        for candidate in self.brokers:
            if candidate.id == broker:
                return candidate
        raise KeyError(broker)

    def to_networkx(self) -> nx.Graph[BrokerId]:
        """An undirected graph: brokers' attributes on its nodes, the `Link` as the edge attribute `link`."""
        graph: nx.Graph[BrokerId] = nx.Graph(name=self.name)
        for broker in self.brokers:
            graph.add_node(broker.id, **broker.attributes)
        for link in self.links:
            graph.add_edge(link.a, link.b, link=link)
        return graph


def check_size(brokers: int, links: int = 0) -> None:
    """Raises `OverlayError` for an overlay that is too large, before anything is made of it."""
    if brokers > MOST_BROKERS:
        raise OverlayError(f"{brokers:,} brokers; {MOST_BROKERS:,} is the most")
    if links > MOST_LINKS:
        raise OverlayError(f"{links:,} links; {MOST_LINKS:,} is the most")


def check_broker(broker: Broker) -> None:
    """Raises `OverlayError` for an id that cannot name files and containers, or a number that no file format keeps."""
    if not _BROKER_ID.fullmatch(broker.id):
        raise OverlayError(
            f"broker id {broker.id!r}: use letters, digits and any of -_. (32 at most, a letter or digit first)"
        )
    for name, value in broker.attributes.items():
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and not math.isfinite(number):
                raise OverlayError(f"broker {broker.id}: the attribute {name} is {number}; numbers must be finite")


def _adjacency(brokers: Sequence[Broker], links: Sequence[Link]) -> dict[BrokerId, dict[BrokerId, Link]]:
    if not brokers:
        raise OverlayError("an overlay needs at least one broker")
    adjacency: dict[BrokerId, dict[BrokerId, Link]] = {}
    for broker in brokers:
        check_broker(broker)
        if broker.id in adjacency:
            raise OverlayError(f"broker {broker.id} is listed twice")
        adjacency[broker.id] = {}
    for link in links:
        for end in (link.a, link.b):
            if end not in adjacency:
                raise OverlayError(f"link {link.a} - {link.b}: there is no broker {end!r}")
        if link.a == link.b:
            raise OverlayError(f"link {link.a} - {link.b}: a broker cannot be linked to itself")
        if link.b in adjacency[link.a]:
            raise OverlayError(f"link {link.a} - {link.b} is listed twice")
        adjacency[link.a][link.b] = adjacency[link.b][link.a] = link
    return adjacency


def _require_connected(graph: nx.Graph[BrokerId]) -> None:
    parts = [sorted(part) for part in nx.connected_components(graph)]
    if len(parts) > 1:
        smallest = min(parts, key=len)
        listed = ", ".join(smallest[:5]) + (", ..." if len(smallest) > 5 else "")
        raise OverlayError(
            f"the overlay is disconnected: {len(parts)} parts, one of them {{{listed}}}; "
            "add a link between each two parts"
        )
