"""Transit-stub networks of routers, as the GT-ITM generator makes them, and servers attached to them.

Transit domains are linked to each other; every transit router has stub domains attached, through one link each. The
servers' mesh has the delays of the fastest paths between them over the routers. (MEDYM, section 5.1.1)
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

import networkx as nx

from topology import shapes
from topology.link_properties import OverlayError
from topology.links import Range
from topology.model import Broker
from topology.underlays.mesh import Mesh
from topology.underlays.underlay import RouterLink, Underlay, UnderlayRouter

TRANSIT_DELAY = Range(0.050, 0.100)
TRANSIT_STUB_DELAY = Range(0.010, 0.040)
STUB_DELAY = Range(0.001, 0.005)
LAN_DELAY = 0.001
"""MEDYM's link delays, in seconds."""


@dataclass(frozen=True, slots=True)
class TransitStub:
    """The parameters; the defaults are MEDYM's, as far as the paper gives them. Delays are one-way, in seconds."""

    transit_domains: int = 20
    transit_routers: int = 5
    """Mean number of routers in a transit domain."""
    stubs: int = 3
    """Mean number of stub domains at a transit router."""
    stub_routers: int = 8
    """Mean number of routers in a stub domain."""
    domain_degree: float = 19.0
    """Mean number of other transit domains that one is linked to; at most all others, as in GT-ITM's own samples. (Not
    given in the paper.)"""
    density: float = 0.6
    """Share of the further pairs of routers of one domain that are linked, beside a spanning tree. (Not given.)"""
    links: int | None = None
    """Links between routers in all; then the density holds in transit domains only, and stub domains make it up."""
    transit_delay: Range = TRANSIT_DELAY
    """Delay of links between transit routers, in one domain or two."""
    transit_stub_delay: Range = TRANSIT_STUB_DELAY
    stub_delay: Range = STUB_DELAY

    def __post_init__(self) -> None:
        for name in ("transit_domains", "transit_routers", "stubs", "stub_routers"):
            if getattr(self, name) < 1:
                raise OverlayError(f"a transit-stub network needs at least 1 for {name}, not {getattr(self, name)}")
        if not 0 <= self.density <= 1:
            raise OverlayError(f"the density of a transit-stub network is a share from 0 to 1, not {self.density}")


Routers: TypeAlias = "nx.Graph[int]"
"""Nodes have `domain` (the transit domain's number) and `stub` (the stub domain's, -1 in transit), edges `delay`."""


def routers(parameters: TransitStub, rng: random.Random) -> Routers:
    """The network of routers, connected. Raises `OverlayError` when it cannot have `links` links."""
    network = _Network(parameters, rng)
    transit = network.add_transit_domains()
    stubs = network.add_stub_domains(transit)
    if parameters.links is None:
        network.thicken(stubs, parameters.stub_delay)
    else:
        network.fill(stubs, parameters.links)
    return network.graph


def attach(network: Routers, servers: int, lan_delay: float, rng: random.Random) -> Underlay:
    """The network with servers B1, B2, ... at routers drawn at random, each over a LAN link.

    No router has a second server before every router has one. Raises `OverlayError` without a server.
    """
    if servers < 1:
        raise OverlayError(f"a transit-stub network needs at least 1 server, not {servers}")
    at = _attachments(len(network), servers, rng)
    return Underlay(
        routers=tuple(UnderlayRouter(data["domain"], data["stub"]) for _, data in network.nodes(data=True)),
        links=tuple(RouterLink(a, b, float(data["delay"])) for a, b, data in network.edges(data=True)),
        servers={f"B{number}": router for number, router in enumerate(at, start=1)},
        lan_delay=lan_delay,
    )


def server_mesh(underlay: Underlay) -> Mesh:
    """The delays between all servers, which carry their `router`, its transit `domain` and its `stub` domain (-1 at a
    transit router)."""
    brokers = []
    for server, number in underlay.servers.items():
        router = underlay.routers[number]
        brokers.append(Broker(server, {"router": number, "domain": router.domain, "stub": router.stub}))
    return Mesh("transit-stub", tuple(brokers), underlay.latencies(list(underlay.servers)))


def _attachments(routers: int, servers: int, rng: random.Random) -> list[int]:
    """The router of each server: all routers in random order, as often as needed."""
    rounds = -(-servers // routers)
    return [router for _ in range(rounds) for router in rng.sample(range(routers), routers)][:servers]


@dataclass(slots=True)
class _Network:
    """A network of routers under construction."""

    parameters: TransitStub
    rng: random.Random
    graph: Routers = field(default_factory=nx.Graph)

    def add_transit_domains(self) -> list[list[int]]:
        """Adds transit domains, linked to each other; returns the routers of each."""
        given = self.parameters
        sizes = self._sizes(given.transit_domains, given.transit_routers)
        domains = [self._domain(size, given.transit_delay, domain=number, stub=-1) for number, size in enumerate(sizes)]
        self.thicken(domains, given.transit_delay)
        if len(domains) > 1:
            degree = min(max(given.domain_degree, 2 - 2 / len(domains)), len(domains) - 1)
            linked = shapes.cyclic(len(domains), degree, self.rng)
            members = dict(zip(linked, domains, strict=True))
            for a, b in linked.edges:
                self._link(self.rng.choice(members[a]), self.rng.choice(members[b]), given.transit_delay)
        return domains

    def add_stub_domains(self, transit: Sequence[Sequence[int]]) -> list[list[int]]:
        """Adds stub domains, each linked to its transit router; returns the routers of each."""
        gateways = [router for domain in transit for router in domain]
        counts = self._sizes(len(gateways), self.parameters.stubs)
        homes = [gateway for gateway, count in zip(gateways, counts, strict=True) for _ in range(count)]
        stubs = []
        for number, size in enumerate(self._sizes(len(homes), self.parameters.stub_routers)):
            domain = self.graph.nodes[homes[number]]["domain"]
            stub = self._domain(size, self.parameters.stub_delay, domain=domain, stub=number)
            self._link(homes[number], self.rng.choice(stub), self.parameters.transit_stub_delay)
            stubs.append(stub)
        return stubs

    def thicken(self, domains: Sequence[Sequence[int]], delay: Range) -> None:
        """Links a share of the domains' pairs, which is the density."""
        for a, b in list(self._unlinked(domains)):
            if self.rng.random() < self.parameters.density:
                self._link(a, b, delay)

    def fill(self, domains: Sequence[Sequence[int]], links: int) -> None:
        """Links pairs of the domains at random until the network has `links` links."""
        now, possible = self.graph.number_of_edges(), list(self._unlinked(domains))
        if not now <= links <= now + len(possible):
            raise OverlayError(f"these domains can have {now} to {now + len(possible)} links, not {links}")
        for a, b in self.rng.sample(possible, links - now):
            self._link(a, b, self.parameters.stub_delay)

    def _domain(self, size: int, delay: Range, **attributes: int) -> list[int]:
        """New routers, linked as a random tree."""
        members = list(range(len(self.graph), len(self.graph) + size))
        self.graph.add_nodes_from(members, **attributes)
        for a, b in nx.random_labeled_tree(size, seed=self.rng).edges:
            self._link(members[a], members[b], delay)
        return members

    def _sizes(self, parts: int, mean: int) -> list[int]:
        """Random sizes from 1 to 2 * mean - 1 whose mean is exact: one after another moves from a part to a part."""
        sizes = [mean] * parts
        for _ in range(parts * mean):
            giver, taker = self.rng.randrange(parts), self.rng.randrange(parts)
            if giver != taker and sizes[giver] > 1 and sizes[taker] < 2 * mean - 1:
                sizes[giver] -= 1
                sizes[taker] += 1
        return sizes

    def _unlinked(self, domains: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
        return ((a, b) for domain in domains for a, b in combinations(domain, 2) if not self.graph.has_edge(a, b))

    def _link(self, a: int, b: int, delay: Range) -> None:
        self.graph.add_edge(a, b, delay=delay.draw(self.rng))
