"""Overlays laid over a mesh: the choice of linked pairs, whose delays in each direction are those of the mesh.

The shapes are graphs of the mesh's brokers, with their attributes; `overlay_on` makes an overlay from one of them, or
from any other graph of those brokers. Pairs of unknown delay are never linked.
"""

from __future__ import annotations

import random
from itertools import takewhile

import networkx as nx
import numpy as np

from broker_service.routing.common.spanning_tree import spanning_tree
from topology import shapes
from topology.link_properties import BrokerId, OverlayError
from topology.links import LinkTemplates
from topology.model import Broker, Overlay
from topology.underlays.mesh import Mesh


def minimum_spanning_tree(mesh: Mesh) -> nx.Graph[BrokerId]:
    """The tree with the least sum of round trips, as content-based forwarding (CBF) uses it. (MEDYM, section 5.1.3)

    Grown from the first broker; raises `OverlayError` when known delays do not connect all.
    """
    weights = mesh.round_trips()
    ids = [broker.id for broker in mesh.brokers]
    edges = spanning_tree(weights, 0, np.arange(1, len(ids)))
    reached = list(takewhile(lambda edge: np.isfinite(weights[edge]), edges))
    if len(reached) < len(edges):
        raise OverlayError(
            f"the known delays of the mesh do not connect all brokers: {len(edges) - len(reached)} are out of reach of "
            f"{ids[0]}, such as {ids[edges[len(reached)][1]]}; fill in missing delays"
        )
    graph = _unlinked(mesh)
    graph.add_edges_from((ids[parent], ids[child]) for parent, child in edges)
    return graph


def nearest_neighbours(mesh: Mesh, count: int) -> nx.Graph[BrokerId]:
    """Links from each broker to the `count` brokers of the least round trip, not necessarily mutual.

    The minimum spanning tree is part of it, because nearest neighbours alone leave far-off groups apart.
    """
    if count < 1:
        raise OverlayError(f"a broker needs at least one nearest neighbour, not {count}")
    weights = mesh.round_trips()
    np.fill_diagonal(weights, np.inf)
    graph = minimum_spanning_tree(mesh)
    ids = list(graph)
    for broker, row in zip(ids, weights, strict=True):
        for other in np.argsort(row, kind="stable")[:count]:
            if np.isfinite(row[other]):
                graph.add_edge(broker, ids[int(other)])
    return graph


def random_links(mesh: Mesh, degree: float, rng: random.Random) -> nx.Graph[BrokerId]:
    """A random overlay of a mean degree, as `shapes.cyclic` makes it, independent of delays."""
    drawn = shapes.cyclic(len(mesh.brokers), degree, rng)
    ids = {name: broker.id for name, broker in zip(drawn, mesh.brokers, strict=True)}
    graph = _unlinked(mesh)
    graph.add_edges_from((ids[a], ids[b]) for a, b in drawn.edges)
    return graph


def overlay_on(name: str, mesh: Mesh, graph: nx.Graph[BrokerId], templates: LinkTemplates, seed: int) -> Overlay:
    """An overlay of this shape with the mesh's delays; all other properties of links are drawn from `templates`.

    Raises `OverlayError` when the mesh lacks a link's delay.
    """
    links = []
    for a, b in graph.edges:
        delays = mesh.delay(a, b), mesh.delay(b, a)
        if np.isnan(delays).any():
            raise OverlayError(f"link {a} - {b}: the mesh lacks its delay in one or both directions")
        links.append(templates.draw(a, b, f"{seed}:link", delays))
    brokers = tuple(Broker(node, dict(attributes)) for node, attributes in graph.nodes(data=True))
    return Overlay(name, brokers, tuple(links))


def _unlinked(mesh: Mesh) -> nx.Graph[BrokerId]:
    graph: nx.Graph[BrokerId] = nx.Graph()
    graph.add_nodes_from((broker.id, dict(broker.attributes)) for broker in mesh.brokers)
    return graph
