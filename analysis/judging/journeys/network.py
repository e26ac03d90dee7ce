"""The network of routers under an overlay: usage by copies and by IP multicast (MEDYM, sections 5.1.1 and 5.2.2).

- *Usage* of a publication is the latency of all links that its copies cross, LAN links included, each time that they
  do.
- The *ideal* is the usage of IP multicast: the fastest paths from the publication server to each destination, merged,
  so that each link counts once. Such a tree is no Steiner tree; a scheme can therefore use less.
- *Normalized resource usage* (NRU) is the mean over publications of usage over ideal; publications without a
  destination have none.
- *Link stress* of a link is the number of copies that cross it, in either direction, on average over publications.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from topology.link_properties import BrokerId
from topology.model import Overlay
from topology.underlays.underlay import Underlay

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

IDEALS_KEPT = 4096
"""Number of ideals that a network keeps before it forgets them all; with 1,000 destinations each, 32 MB."""

_Key = TypeVar("_Key", bound=Hashable)


@dataclass
class Network:
    """The links under some servers, as measures need them. Servers have the numbers of their places in `servers`.

    Paths are found when they are first needed, so a new network is small enough to be sent to workers.
    """

    underlay: Underlay
    servers: Sequence[BrokerId]
    _ideals: dict[tuple[int, bytes], float] = field(default_factory=dict)

    @cached_property
    def latencies(self) -> Numbers:
        """Seconds from each server (a row) to each other one."""
        columns = {server: column for column, server in enumerate(self.underlay.servers)}
        return self.underlay.latencies(self.servers)[:, [columns[server] for server in self.servers]]

    @cached_property
    def _delays(self) -> Numbers:
        return self.underlay.delays

    def ideal(self, source: int, destinations: Integers) -> float:
        """Usage of IP multicast from a server to others, in seconds. Equal questions are answered from memory."""
        key = source, destinations.tobytes()
        if key not in self._ideals:
            others = [self.servers[destination] for destination in destinations.tolist()]
            crossed = self.underlay.paths(self.servers[source], others)
            if len(self._ideals) >= IDEALS_KEPT:
                self._ideals.clear()
            self._ideals[key] = float(self._delays[sorted(crossed)].sum())
        return self._ideals[key]

    def usage(self, edges: Iterable[tuple[int, int]]) -> float:
        """Usage of a copy along each edge of a tree, from a sender to a receiver, in seconds."""
        return sum(float(self.latencies[sender, receiver]) for sender, receiver in edges)

    def crossings(self, senders: Integers, receivers: Integers) -> Integers:
        """Number of times that copies between these servers cross each link; links between routers come first."""
        pairs, counts = np.unique(senders * len(self.servers) + receivers, return_counts=True)
        crossed = np.zeros(len(self._delays), np.int64)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            sender, receiver = divmod(pair, len(self.servers))
            crossed[list(self.underlay.path(self.servers[sender], self.servers[receiver]))] += count
        return crossed


def networks_of(laid: Mapping[_Key, tuple[Underlay, Overlay]]) -> dict[_Key, Network]:
    """The network of each variant, given its underlay and the overlay on it; the same two share one."""
    made: dict[tuple[int, int], Network] = {}
    for underlay, overlay in laid.values():
        key = id(underlay), id(overlay)
        if key not in made:
            made[key] = Network(underlay, [broker.id for broker in overlay.brokers])
    return {variant: made[id(underlay), id(overlay)] for variant, (underlay, overlay) in laid.items()}
