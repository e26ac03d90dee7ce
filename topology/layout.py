"""Where to draw brokers: coordinates in the unit square, the same ones for the same overlay and seed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import networkx as nx

from topology.model import BrokerId, Overlay

Position = tuple[float, float]

_ITERATIONS = 200
"""Steps of the force-directed layout: it has settled by then for the sizes that can be drawn at all."""


def layout(overlay: Overlay, seed: int = 0) -> dict[BrokerId, Position]:
    """A position for every broker, x and y from 0 to 1.

    Brokers that carry a `position` attribute (two numbers) keep it when all have one; a SCOT is drawn with a region
    in each column and a cluster in each row; anything else is laid out by forces between brokers.
    """
    given = {broker.id: broker.attributes.get("position") for broker in overlay.brokers}
    if all(isinstance(position, tuple) and len(position) == 2 for position in given.values()):
        return _fitted({broker: (float(p[0]), float(p[1])) for broker, p in given.items() if isinstance(p, tuple)})
    if all({"region", "cluster"} <= broker.attributes.keys() for broker in overlay.brokers):
        return _fitted(_grid(overlay))
    graph = overlay.to_networkx()
    forces = nx.spring_layout(graph, seed=seed, iterations=_ITERATIONS, method="force", pos=_circle(overlay))
    return _fitted({broker: (float(x), float(y)) for broker, (x, y) in forces.items()})


def _circle(overlay: Overlay) -> dict[BrokerId, Position]:
    """The begin of the layout: neighbours in a ring or a line begin as neighbours."""
    around = list(nx.dfs_preorder_nodes(overlay.to_networkx(), overlay.brokers[0].id))
    angle = math.tau / len(around)
    return {broker: (math.cos(index * angle), math.sin(index * angle)) for index, broker in enumerate(around)}


def _grid(overlay: Overlay) -> dict[BrokerId, Position]:
    regions = list(dict.fromkeys(broker.attributes["region"] for broker in overlay.brokers))
    return {
        broker.id: (float(regions.index(broker.attributes["region"])), float(str(broker.attributes["cluster"])))
        for broker in overlay.brokers
    }


def _fitted(positions: Mapping[BrokerId, Position]) -> dict[BrokerId, Position]:
    """Moved and scaled, each axis for itself, to fill the unit square."""
    fitted = []
    for axis in (0, 1):
        values = [position[axis] for position in positions.values()]
        low, extent = min(values), max(values) - min(values)
        fitted.append([(value - low) / extent if extent > 1e-9 else 0.5 for value in values])
    return dict(zip(positions, zip(*fitted, strict=True), strict=True))
