"""Load of the network under the servers (MEDYM, sections 5.1.1 and 5.2.2).

- *Usage* of an event is the latency of all links that its copies cross, LAN links included, each time that they do.
- The *ideal* is the usage of IP multicast: the fastest paths from the publication server to each destination, merged,
  so that each link counts once. Such a tree is no Steiner tree; a scheme can therefore use less.
- *Normalized resource usage* (NRU) is the mean over events of usage over ideal; events without a destination have none.
- *Link stress* of a link is the number of copies that cross it, in either direction, on average over events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from analysis.claims.measured_run import MeasuredVariant
from analysis.claims.model import ClaimsError
from analysis.claims.papers.medym.traffic import Integers, Numbers, Traffic
from topology.link_properties import BrokerId
from topology.underlay import Underlay


@dataclass
class Network:
    """The links under some servers, as measures need them. Servers have the numbers of `Traffic`."""

    underlay: Underlay
    servers: Sequence[BrokerId]
    latencies: Numbers = field(init=False)
    """Seconds from each server (a row) to each other one."""
    _delays: Numbers = field(init=False)
    _ideals: dict[tuple[int, bytes], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {server: column for column, server in enumerate(self.underlay.servers)}
        order = [columns[server] for server in self.servers]
        self.latencies = self.underlay.latencies(self.servers)[:, order]
        self._delays = self.underlay.delays

    def ideal(self, source: int, destinations: Integers) -> float:
        """Usage of IP multicast from a server to others, in seconds. Equal questions are answered from memory."""
        key = source, destinations.tobytes()
        if key not in self._ideals:
            crossed: set[int] = set()
            for destination in destinations.tolist():
                crossed.update(self.underlay.path(self.servers[source], self.servers[destination]))
            self._ideals[key] = float(self._delays[sorted(crossed)].sum())
        return self._ideals[key]

    def usage(self, edges: Iterable[tuple[int, int]]) -> float:
        """Usage of a copy along each edge of a tree, from a sender to a receiver, in seconds."""
        return sum(float(self.latencies[sender, receiver]) for sender, receiver in edges)

    def stress(self, traffic: Traffic) -> Numbers:
        """Link stress of each link, those between routers first. Needs an event."""
        pairs, counts = np.unique(traffic.sender * len(self.servers) + traffic.receiver, return_counts=True)
        crossed = np.zeros(len(self._delays))
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            sender, receiver = divmod(pair, len(self.servers))
            crossed[list(self.underlay.path(self.servers[sender], self.servers[receiver]))] += count
        return crossed / len(traffic.events)


def networks(variants: Sequence[MeasuredVariant]) -> Mapping[str, Network]:
    """The network of each variant, by the variant's name; variants over the same network share one.

    Raises `ClaimsError` for a variant that has none.
    """
    made: dict[int, Network] = {}
    for variant in variants:
        if variant.underlay is None:
            raise ClaimsError(f"variant {variant.name}: there is no network of routers under its overlay")
        if id(variant.underlay) not in made:
            made[id(variant.underlay)] = Network(variant.underlay, [broker.id for broker in variant.overlay.brokers])
    return {variant.name: made[id(variant.underlay)] for variant in variants}


def usage_of(traffic: Traffic, network: Network) -> Numbers:
    """Usage of each event, in seconds."""
    latencies = network.latencies[traffic.sender, traffic.receiver]
    return np.bincount(traffic.event, latencies, len(traffic.events)).astype(np.float64)


def unicast_usage_of(traffic: Traffic, network: Network, destinations: Sequence[Integers]) -> Numbers:
    """Usage of each event, in seconds, if its publication server sent a copy to each destination by itself."""
    sources = traffic.publishers.tolist()
    return np.array(
        [network.latencies[source, wanted].sum() for source, wanted in zip(sources, destinations, strict=True)]
    )


def normalized_usage(
    usages: Numbers, traffic: Traffic, network: Network, destinations: Sequence[Integers]
) -> float | None:
    """NRU of events with these usages and destinations; None without an event that has a destination."""
    ratios = [
        float(usage) / network.ideal(source, wanted)
        for usage, source, wanted in zip(usages, traffic.publishers.tolist(), destinations, strict=True)
        if len(wanted)
    ]
    return fmean(ratios) if ratios else None
