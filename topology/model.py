"""An overlay: brokers and the links between them, each with the properties to emulate.

Values check themselves when they are made, so that every `Overlay` is connected and its links have known ends.

An overlay's links are a tuple, or those of a full mesh (`MeshLinks`), which are made on demand and not kept: 1,000
brokers have 499,500 of them.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import overload

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from topology.link_properties import BrokerId, Link, OverlayError

Delays = NDArray[np.float64]
"""Seconds, from the row's broker to the column's."""
AttributeValue = str | int | float | tuple[int, ...] | tuple[float, ...]

# Broker ids become names of containers, interfaces' aliases and files.
_BROKER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}", re.ASCII)

MOST_BROKERS = 10_000
"""Enough for a simulation; far more than a host has room for."""
MOST_LINKS = 500_000
"""Links of an overlay that lists them."""
LARGEST_MESH = 2_500
"""Brokers of a full mesh, whose delays are a matrix."""


def range_of_rates(links: Iterable[Link]) -> tuple[float, float] | None:
    """The least and the greatest rate of links, each from its end `a`, in bits per second; None when none has one."""
    rates = {link.forward.rate for link in links if link.forward.rate is not None}
    return (min(rates), max(rates)) if rates else None


class LinkSource(ABC):
    """The properties of a link between any two brokers."""

    @abstractmethod
    def between(self, a: BrokerId, b: BrokerId) -> Link:
        """The link from a to b, equal each time. The ends are two different brokers of the overlay."""

    def delays(self, brokers: Sequence[BrokerId]) -> Delays:
        """The delay of the link from each of these brokers to each other, in seconds; 0 on the diagonal.

        A source that has the delays need not make all links for them, as this does.
        """
        delays = np.zeros((len(brokers), len(brokers)))
        for (row, a), (column, b) in combinations(enumerate(brokers), 2):
            link = self.between(a, b)
            delays[row, column], delays[column, row] = link.forward.delay, link.backward.delay
        return delays

    def rates(self, brokers: Sequence[BrokerId]) -> tuple[float, float] | None:
        """The least and the greatest rate of the links between these brokers from the one that comes first, in bits
        per second; None when none has a rate.

        A source whose links draw their rates may return the range instead of making all links, as this does.
        """
        return range_of_rates(self.between(a, b) for a, b in combinations(brokers, 2))


class MeshLinks(Sequence[Link]):
    """The links of a full mesh, one between every two brokers, each made whenever it is asked for.

    They are ordered by their ends: B1 - B2, B1 - B3, ..., B2 - B3, ...; the end that comes first among the brokers is
    the link's `a`. Equal to any sequence of equal links in this order.
    """

    __slots__ = ("_latest", "_order", "brokers", "source")

    def __init__(self, brokers: Sequence[BrokerId], source: LinkSource) -> None:
        """Raises `OverlayError` for more brokers than a mesh may have."""
        if len(brokers) > LARGEST_MESH:
            raise OverlayError(f"a full mesh of {len(brokers):,} brokers; {LARGEST_MESH:,} is the most")
        self.brokers = tuple(brokers)
        self.source = source
        self._order = {broker: number for number, broker in enumerate(self.brokers)}
        self._latest: Link | None = None
        """The link that was asked for last: whoever opens it asks for it twice."""

    def between(self, a: BrokerId, b: BrokerId) -> Link:
        """The link between two brokers, in either order. Raises `KeyError` for equal or unknown ones."""
        first, second = self._order[a], self._order[b]
        if first == second:
            raise KeyError(b)
        a, b = (a, b) if first < second else (b, a)
        link = self._latest
        if link is None or (link.a, link.b) != (a, b):
            link = self._latest = self.source.between(a, b)
        return link

    def neighbours(self, broker: BrokerId) -> tuple[BrokerId, ...]:
        """All other brokers. Raises `KeyError` if unknown."""
        number = self._order[broker]
        return self.brokers[:number] + self.brokers[number + 1 :]

    def pairs(self) -> Iterator[tuple[BrokerId, BrokerId]]:
        """The ends of all links, in their order; no link is made for them."""
        return combinations(self.brokers, 2)

    def delays(self) -> Delays:
        """The delay of the link from each broker (a row) to each other, in seconds; 0 on the diagonal."""
        return self.source.delays(self.brokers)

    def rates(self) -> tuple[float, float] | None:
        """The least and the greatest rate that the links have, or draw from; None when none has a rate."""
        return self.source.rates(self.brokers)

    def __len__(self) -> int:
        return len(self.brokers) * (len(self.brokers) - 1) // 2

    def __iter__(self) -> Iterator[Link]:
        return (self.source.between(a, b) for a, b in self.pairs())

    @overload
    def __getitem__(self, index: int) -> Link: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Link, ...]: ...
    def __getitem__(self, index: int | slice) -> Link | tuple[Link, ...]:
        numbers = range(len(self))[index]
        return self._at(numbers) if isinstance(numbers, int) else tuple(self._at(number) for number in numbers)

    def __contains__(self, link: object) -> bool:
        try:
            return isinstance(link, Link) and self.between(link.a, link.b) == link
        except KeyError:
            return False

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MeshLinks) and (self.brokers, self.source) == (other.brokers, other.source):
            return True
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # its hash would need all links

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.brokers)} brokers, {self.source!r})"

    def _at(self, number: int) -> Link:
        """The link of this number; a broker's links to later ones follow those of the brokers before it."""
        brokers = len(self.brokers)
        row = brokers - 2 - (math.isqrt(4 * brokers * (brokers - 1) - 8 * number - 7) - 1) // 2
        column = number + row + 1 - len(self) + (brokers - row) * (brokers - row - 1) // 2
        return self.source.between(self.brokers[row], self.brokers[column])


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker and its attributes in the overlay, such as SCOT coordinates, tree level or position."""

    id: BrokerId
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overlay:
    """A broker overlay network: without self-loops or doubled links, and connected unless it may be partitioned.

    Raises `OverlayError` when made of anything else.
    """

    name: str
    brokers: tuple[Broker, ...]
    links: tuple[Link, ...] | MeshLinks
    may_be_partitioned: bool = field(default=False, compare=False)
    """True for a moment of a changing overlay whose scenario allows moments in which it is in several parts."""
    _brokers: Mapping[BrokerId, Broker] = field(init=False, repr=False, compare=False)
    _adjacency: Mapping[BrokerId, Mapping[BrokerId, Link]] = field(init=False, repr=False, compare=False)
    """Links by their ends; empty for a full mesh."""

    def __post_init__(self) -> None:
        brokers = _by_id(self.brokers)
        object.__setattr__(self, "_brokers", brokers)
        if isinstance(self.links, MeshLinks):
            if tuple(brokers) != self.links.brokers:
                raise OverlayError("the links of a full mesh join the overlay's brokers, in their order")
            object.__setattr__(self, "_adjacency", {})
            return
        object.__setattr__(self, "_adjacency", _adjacency(brokers, self.links))
        if not self.may_be_partitioned:
            _require_connected(self.to_networkx())

    @property
    def is_full_mesh(self) -> bool:
        """True when every two brokers share a link."""
        return 2 * len(self.links) == len(self.brokers) * (len(self.brokers) - 1)

    @property
    def pairs(self) -> Iterator[tuple[BrokerId, BrokerId]]:
        """The ends of all links, `a` first, in the order of the links."""
        if isinstance(self.links, MeshLinks):
            return self.links.pairs()
        return ((link.a, link.b) for link in self.links)

    def neighbours(self, broker: BrokerId) -> tuple[BrokerId, ...]:
        """The brokers that share a link with this one, in the order of the links. Raises `KeyError` if unknown."""
        return self.links.neighbours(broker) if isinstance(self.links, MeshLinks) else tuple(self._adjacency[broker])

    def link(self, a: BrokerId, b: BrokerId) -> Link:
        """The link between two brokers, in either order of its ends. Raises `KeyError` without one."""
        return self.links.between(a, b) if isinstance(self.links, MeshLinks) else self._adjacency[a][b]

    def broker(self, broker: BrokerId) -> Broker:
        """Raises `KeyError` when the overlay has no such broker."""
        return self._brokers[broker]

    def to_networkx(self) -> nx.Graph[BrokerId]:
        """An undirected graph: brokers' attributes on its nodes, the `Link` as the edge attribute `link`.

        It holds every link, also those of a full mesh.
        """
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
            f"broker id {broker.id[:40]!r}: use letters, digits and any of -_. (32 at most, a letter or digit first)"
        )
    for name, value in broker.attributes.items():
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and not math.isfinite(number):
                raise OverlayError(f"broker {broker.id}: the attribute {name} is {number}; numbers must be finite")


def _by_id(brokers: Sequence[Broker]) -> dict[BrokerId, Broker]:
    if not brokers:
        raise OverlayError("an overlay needs at least one broker")
    by_id: dict[BrokerId, Broker] = {}
    for broker in brokers:
        check_broker(broker)
        if broker.id in by_id:
            raise OverlayError(f"broker {broker.id} is listed twice")
        by_id[broker.id] = broker
    return by_id


def _adjacency(brokers: Mapping[BrokerId, Broker], links: Sequence[Link]) -> dict[BrokerId, dict[BrokerId, Link]]:
    adjacency: dict[BrokerId, dict[BrokerId, Link]] = {broker: {} for broker in brokers}
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
