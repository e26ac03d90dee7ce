"""Measures of an overlay: sizes, degrees, path lengths, articulation points, bridges and delays."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul

import networkx as nx
import numpy as np

from topology.link_properties import BrokerId
from topology.model import MeshLinks, Overlay
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
    """Links on the longest of all shortest paths, within parts."""
    mean_path: float
    """Links on a shortest path, over all pairs of brokers that have one."""
    parts: int
    """Parts without a path between them; 1 for a connected overlay."""
    articulation_points: tuple[BrokerId, ...]
    """Brokers whose loss alone cuts the overlay apart, in the overlay's order."""
    bridges: tuple[tuple[BrokerId, BrokerId], ...]
    """Links whose loss alone cuts the overlay apart, in the overlay's order."""
    delay: Spread | None
    """One-way delay of a link's direction, in seconds; None without links."""


def metrics(overlay: Overlay) -> Metrics:
    """Measures an overlay of thousands of brokers in seconds."""
    if isinstance(overlay.links, MeshLinks):
        return _mesh_metrics(overlay)
    graph = overlay.to_networkx()
    degrees = [degree for _, degree in graph.degree]
    parts = [hop_counts(graph.subgraph(part)) for part in nx.connected_components(graph)]
    pairs = [len(part) * (len(part) - 1) for part in nx.connected_components(graph)]
    articulation = set(nx.articulation_points(graph))
    bridges = {frozenset(ends) for ends in nx.bridges(graph)}
    delays = _delays(overlay)
    return Metrics(
        brokers=len(overlay.brokers),
        links=len(overlay.links),
        degree=Spread.of(degrees),
        degrees=dict(sorted(Counter(degrees).items())),
        diameter=max(hops.diameter for hops in parts),
        mean_path=_weighted_mean([hops.mean for hops in parts], pairs),
        parts=len(parts),
        articulation_points=tuple(broker.id for broker in overlay.brokers if broker.id in articulation),
        bridges=tuple((link.a, link.b) for link in overlay.links if frozenset((link.a, link.b)) in bridges),
        delay=Spread.of(delays) if delays else None,
    )


def _mesh_metrics(overlay: Overlay) -> Metrics:
    """The measures of a full mesh, which follow from its size, the delays apart."""
    brokers, delays = len(overlay.brokers), _delays(overlay)
    return Metrics(
        brokers=brokers,
        links=len(overlay.links),
        degree=Spread.of([brokers - 1]),
        degrees={brokers - 1: brokers},
        diameter=min(brokers - 1, 1),
        mean_path=float(brokers > 1),
        parts=1,
        articulation_points=(),
        bridges=tuple((link.a, link.b) for link in overlay.links) if brokers == 2 else (),
        delay=Spread.of(delays) if delays else None,
    )


def _weighted_mean(values: Sequence[float], weights: Sequence[int]) -> float:
    if len(values) == 1:
        return values[0]
    return float(sum(map(mul, values, weights))) / (sum(weights) or 1)


def _delays(overlay: Overlay) -> array[float]:
    """The one-way delays of all links in both directions, in seconds."""
    if isinstance(overlay.links, MeshLinks):
        delays, pairs = overlay.links.delays(), np.triu_indices(len(overlay.brokers), 1)
        return array("d", np.column_stack((delays[pairs], delays.T[pairs])).ravel())
    return array("d", (direction.delay for link in overlay.links for direction in (link.forward, link.backward)))
