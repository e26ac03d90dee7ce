"""Where to draw brokers: coordinates in the unit square, the same ones for the same overlay; y points up."""

from __future__ import annotations

import math
from collections.abc import Mapping

import networkx as nx
import numpy as np

from topology.forces import settled
from topology.layers import layered, spine
from topology.model import BrokerId, Overlay

Position = tuple[float, float]

_CLUSTER_DEPTH = 0.6
"""Of the distance between two clusters of a SCOT, what the acyclic factor's branches may take up."""


def layout(overlay: Overlay) -> dict[BrokerId, Position]:
    """A position for every broker, x and y from 0 to 1.

    What the brokers' attributes say counts when all brokers say it: their `position` (two numbers); their `longitude`
    and `latitude`, as on a map whose crowded parts are stretched; their `region` and `cluster`, a SCOT, with a region
    in each column and a cluster in each layer; their `level`, a tree, with the root on top. Anything else is laid out
    by forces between brokers.
    """
    given = {broker.id: broker.attributes.get("position") for broker in overlay.brokers}
    if all(isinstance(position, tuple) and len(position) == 2 for position in given.values()):
        return _fitted({broker: (float(p[0]), float(p[1])) for broker, p in given.items() if isinstance(p, tuple)})
    longitudes, latitudes = _numbers(overlay, "longitude"), _numbers(overlay, "latitude")
    if longitudes and latitudes:
        return _fitted(_stretched(longitudes, latitudes))
    clusters = _numbers(overlay, "cluster")
    if clusters and all("region" in broker.attributes for broker in overlay.brokers):
        return _fitted(_scot(overlay, clusters))
    graph = overlay.to_networkx()
    levels = _numbers(overlay, "level")
    if levels:
        return _fitted(layered(graph, levels))
    return _fitted(_by_forces(graph))


def _by_forces(graph: nx.Graph[BrokerId]) -> dict[BrokerId, Position]:
    """From a circle on which neighbours in a ring or a line are neighbours."""
    index = {broker: number for number, broker in enumerate(graph)}
    angles = np.empty(len(index))
    around = nx.dfs_preorder_nodes(graph, next(iter(graph)))
    angles[[index[broker] for broker in around]] = np.linspace(0, math.tau, len(index), endpoint=False)
    begin = np.column_stack((np.cos(angles), np.sin(angles)))
    links = [(index[a], index[b]) for a, b in graph.edges]
    return {broker: (float(x), float(y)) for broker, (x, y) in zip(index, settled(begin, links), strict=True)}


def _numbers(overlay: Overlay, attribute: str) -> dict[BrokerId, float] | None:
    """An attribute of all brokers; None unless all have it, as a number."""
    numbers = {}
    for broker in overlay.brokers:
        value = broker.attributes.get(attribute)
        if not isinstance(value, int | float):
            return None
        numbers[broker.id] = float(value)
    return numbers


def _stretched(*axes: Mapping[BrokerId, float]) -> dict[BrokerId, Position]:
    """Half way between geography and rank order: who is east of whom stays so, and neighbouring cities come apart."""
    stretched = []
    for degrees in axes:
        extent = max(degrees.values()) - min(degrees.values()) or 1.0
        order = sorted(degrees, key=degrees.__getitem__)
        rank = {broker: place / len(order) for place, broker in enumerate(order)}
        stretched.append([value / extent + rank[broker] for broker, value in degrees.items()])
    return dict(zip(axes[0], zip(*stretched, strict=True), strict=True))


def _scot(overlay: Overlay, clusters: Mapping[BrokerId, float]) -> dict[BrokerId, Position]:
    """Each cluster shows the acyclic factor: its longest path straight, what branches off it above."""
    regions = {broker.id: str(broker.attributes["region"]) for broker in overlay.brokers}
    factor: nx.Graph[str] = nx.Graph()
    factor.add_nodes_from(regions.values())
    factor.add_edges_from(
        (regions[link.a], regions[link.b]) for link in overlay.links if clusters[link.a] == clusters[link.b]
    )
    if nx.is_tree(factor):
        columns = spine(factor)
    else:  # a SCOT that was changed by hand
        columns = {region: (float(column), 0.0) for column, region in enumerate(factor)}
    deepest = max(depth for _, depth in columns.values()) or 1
    return {
        broker: (columns[region][0], clusters[broker] + _CLUSTER_DEPTH * columns[region][1] / deepest)
        for broker, region in regions.items()
    }


def _fitted(positions: Mapping[BrokerId, Position]) -> dict[BrokerId, Position]:
    """Moved and scaled, each axis for itself, to fill the unit square."""
    fitted = []
    for axis in (0, 1):
        values = [position[axis] for position in positions.values()]
        low, extent = min(values), max(values) - min(values)
        fitted.append([(value - low) / extent if extent > 1e-9 else 0.5 for value in values])
    return dict(zip(positions, zip(*fitted, strict=True), strict=True))
