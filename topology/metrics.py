"""Measures of an overlay: sizes, degrees, path lengths, articulation points, bridges and delays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from topology.model import BrokerId, Overlay
from topology.paths import hop_counts


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the mean and the greatest of some numbers."""

    least: float
    mean: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of one or more values."""
        return cls(min(values), sum(values) / len(values), max(values))


@dataclass(frozen=True, slots=True)
class Metrics:
    """The measures of one overlay."""

    brokers: int
    links: int
    degree: Spread
    """Links of a broker."""
    degrees: Mapping[int, int]
    """Number of brokers of each degree."""
    diameter: int
    """Links on the longest of all shortest paths."""
    mean_path: float
    """Links on a shortest path, over all pairs of brokers."""
    articulation_points: tuple[BrokerId, ...]
    """Brokers whose loss alone cuts the overlay apart, in the overlay's order."""
    bridges: tuple[tuple[BrokerId, BrokerId], ...]
    """Links whose loss alone cuts the overlay apart, in the overlay's order."""
    delay: Spread | None
    """One-way delay of a link's direction, in seconds; None without links."""


def metrics(overlay: Overlay) -> Metrics:
    """Measures an overlay of thousands of brokers in seconds."""
    graph = overlay.to_networkx()
    degrees = [degree for _, degree in graph.degree]
    hops = hop_counts(graph)
    articulation = set(nx.articulation_points(graph))
    bridges = {frozenset(ends) for ends in nx.bridges(graph)}
    delays = [direction.delay for link in overlay.links for direction in (link.forward, link.backward)]
    return Metrics(
        brokers=len(overlay.brokers),
        links=len(overlay.links),
        degree=Spread.of(degrees),
        degrees=dict(sorted(Counter(degrees).items())),
        diameter=hops.diameter,
        mean_path=hops.mean,
        articulation_points=tuple(broker.id for broker in overlay.brokers if broker.id in articulation),
        bridges=tuple((link.a, link.b) for link in overlay.links if frozenset((link.a, link.b)) in bridges),
        delay=Spread.of(delays) if delays else None,
    )
