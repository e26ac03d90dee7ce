"""The routers' network under an overlay: latency and path between any two servers.

Overlay links run over a network of routers that several of them share. A message between two brokers takes the fastest
path through it: the LAN link of its sender's server, links between routers, the LAN link of its receiver's. From the
paths follow the measures of MEDYM, section 5.1: *network usage* is the latency of all links that the messages of an
event cross, and *link stress* the number of messages on a link.

Links are numbered: first those between routers, in order, then the LAN link of each server, in the servers' order. So a
measure can be an array with a number for each link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topology.link_properties import BrokerId, OverlayError
from topology.paths import DirectedGraph, PathTree


@dataclass(frozen=True, slots=True)
class UnderlayRouter:
    """A router of a transit-stub network."""

    domain: int
    """Number of its transit domain."""
    stub: int
    """Number of its stub domain; -1 for a transit router."""


@dataclass(frozen=True, slots=True)
class RouterLink:
    """A link between two routers, by their numbers, with the same delay in both directions."""

    a: int
    b: int
    delay: float
    """Seconds, one way."""


@dataclass(frozen=True)
class Underlay:
    """Routers, their links, and the router of each server. Raises `OverlayError` for a network that cannot be."""

    routers: tuple[UnderlayRouter, ...]
    links: tuple[RouterLink, ...]
    servers: Mapping[BrokerId, int]
    """The number of each server's router."""
    lan_delay: float
    """Delay between a server and its router, in seconds."""
    _lan: dict[BrokerId, int] = field(init=False, repr=False, compare=False)
    _graph: DirectedGraph = field(init=False, repr=False, compare=False)
    """Routers, with the edges along all links and then those against all links."""
    _trees: dict[int, PathTree] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Fastest paths from a router, made when first needed."""

    def __post_init__(self) -> None:
        known = range(len(self.routers))
        for link in self.links:
            if link.a not in known or link.b not in known:
                raise OverlayError(f"link between the routers {link.a} and {link.b}: there are {len(known)} routers")
        for delay in (self.lan_delay, *(link.delay for link in self.links)):
            if not 0 <= delay < math.inf:
                raise OverlayError(f"a router link's delay must be zero or more seconds, not {delay}")
        for server, router in self.servers.items():
            if router not in known:
                raise OverlayError(f"server {server} is at router {router}; there are {len(known)} routers")
        along = [(link.a, link.b, link.delay) for link in self.links]
        against = [(head, tail, delay) for tail, head, delay in along]
        object.__setattr__(self, "_graph", DirectedGraph(len(self.routers), [*along, *against]))
        object.__setattr__(self, "_lan", {server: len(self.links) + n for n, server in enumerate(self.servers)})

    @property
    def delays(self) -> NDArray[np.float64]:
        """The delay of each numbered link, in seconds."""
        return np.array([link.delay for link in self.links] + [self.lan_delay] * len(self.servers))

    def latency(self, a: BrokerId, b: BrokerId) -> float:
        """One-way delay of the fastest path, in seconds; 0 from a server to itself. Raises `KeyError` if unknown."""
        if a == b:
            self.servers[a]
            return 0.0
        return float(self._delays[self.servers[a]][self.servers[b]]) + 2 * self.lan_delay

    def latencies(self, sources: Sequence[BrokerId]) -> NDArray[np.float64]:
        """One-way delays from each of these servers (a row) to every server (a column), in seconds."""
        routers = list(self.servers.values())
        from_sources = [self._delays[self.servers[source]][routers] for source in sources]
        rows = np.array(from_sources).reshape(len(sources), len(routers)) + 2 * self.lan_delay
        columns = {server: column for column, server in enumerate(self.servers)}
        rows[range(len(sources)), [columns[source] for source in sources]] = 0.0
        return rows

    def path(self, a: BrokerId, b: BrokerId) -> tuple[int, ...]:
        """The numbers of the links on the fastest path, in order; none from a server to itself.

        All paths from one server are branches of one tree. Raises `KeyError` for an unknown server.
        """
        between = self._tree(a).path_to(self.servers[b])
        return () if a == b else (self._lan[a], *map(self._link, between), self._lan[b])

    def paths(self, a: BrokerId, others: Sequence[BrokerId]) -> set[int]:
        """The numbers of the links on the fastest paths from a server to others, each once. Raises as `path`."""
        between = self._tree(a).paths_to([self.servers[other] for other in others])
        ends = {a, *others}
        return {*map(self._link, between), *(self._lan[end] for end in ends if len(ends) > 1)}

    def _link(self, edge: int) -> int:
        """The number of the link along or against which an edge leads."""
        return edge % len(self.links)

    @cached_property
    def _delays(self) -> Mapping[int, NDArray[np.float64]]:
        """Delays of the fastest paths from the router of each server to all routers, found together."""
        routers = sorted(set(self.servers.values()))
        return dict(zip(routers, self._graph.delays_from(routers), strict=True))

    def _tree(self, server: BrokerId) -> PathTree:
        router = self.servers[server]
        if router not in self._trees:
            self._trees[router] = self._graph.tree(router, self._delays[router])
        return self._trees[router]
