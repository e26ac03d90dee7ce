"""Positions of brokers in a drawing: coordinates in the unit square, determined by the overlay; y points up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from topology.drawings.layers import layered, spine
from topology.link_properties import BrokerId
from topology.model import MeshLinks, Overlay

Position = tuple[float, float]

_LARGE = 500
_STEPS = 200
"""Steps after which the forces have settled."""
_STEPS_LEAST = 50
"""A large layout takes fewer steps, because each costs the square of the brokers."""
_CLUSTER_DEPTH = 0.6
"""Share of the distance between two clusters of a SCOT that branches of the acyclic factor take up."""


def layout(overlay: Overlay) -> dict[BrokerId, Position]:
    """A position for every broker, x and y from 0 to 1.

    An attribute counts when all brokers have it: `position` (two numbers); `longitude` and `latitude`, as on a map
    whose crowded parts are stretched; `region` and `cluster`, a SCOT, with a region in each column and a cluster in
    each layer; `level`, a tree, with the root on top. A full mesh is a circle.
    Other overlays are laid out by forces between brokers.
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
    levels = _numbers(overlay, "level")
    if levels:
        return _fitted(layered(overlay.to_networkx(), levels))
    if isinstance(overlay.links, MeshLinks):
        circle = _on_a_circle([broker.id for broker in overlay.brokers])
        return _fitted({broker: (float(x), float(y)) for broker, (x, y) in circle.items()})
    return _fitted(_by_forces(overlay.to_networkx()))


def _on_a_circle(order: Sequence[BrokerId]) -> dict[BrokerId, NDArray[np.float64]]:
    """Positions at equal distances on a circle."""
    angles = np.linspace(0, math.tau, len(order), endpoint=False)
    return dict(zip(order, np.column_stack((np.cos(angles), np.sin(angles))), strict=True))


def _by_forces(graph: nx.Graph[BrokerId]) -> dict[BrokerId, Position]:
    """Forces that start from a circle on which neighbours in a ring or a line are neighbours.

    Fruchterman and Reingold's forces leave lines and trees without crossings, but NetworkX needs SciPy for them from
    `_LARGE` brokers on. There ForceAtlas2 does as well, because single links cannot be distinguished in such a drawing.
    """
    order = list(nx.dfs_preorder_nodes(graph))
    circle = _on_a_circle(order)
    positions: Mapping[BrokerId, NDArray[np.floating[Any]]]
    if len(graph) < _LARGE:
        positions = nx.spring_layout(graph, pos=circle, iterations=_STEPS, seed=0)
    else:
        steps = max(_STEPS_LEAST, _STEPS * _LARGE**2 // len(graph) ** 2)
        positions = nx.forceatlas2_layout(graph, pos=circle, max_iter=steps, strong_gravity=True, seed=0)
    return {broker: (float(x), float(y)) for broker, (x, y) in positions.items()}


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
    """Halfway between geography and rank order: east stays east, and neighbouring cities are separated."""
    stretched = []
    for degrees in axes:
        extent = max(degrees.values()) - min(degrees.values()) or 1.0
        order = sorted(degrees, key=degrees.__getitem__)
        rank = {broker: place / len(order) for place, broker in enumerate(order)}
        stretched.append([value / extent + rank[broker] for broker, value in degrees.items()])
    return dict(zip(axes[0], zip(*stretched, strict=True), strict=True))


def _scot(overlay: Overlay, clusters: Mapping[BrokerId, float]) -> dict[BrokerId, Position]:
    """Each cluster shows the acyclic factor: its longest path as a straight line, its branches above."""
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
    """Positions moved and scaled, each axis separately, to fill the unit square."""
    fitted = []
    for axis in (0, 1):
        values = [position[axis] for position in positions.values()]
        low, extent = min(values), max(values) - min(values)
        fitted.append([(value - low) / extent if extent > 1e-9 else 0.5 for value in values])
    return dict(zip(positions, zip(*fitted, strict=True), strict=True))
