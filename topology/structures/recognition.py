"""Recognition of a SCOT in a graph without coordinates: the factors of a Cartesian product of a tree and a complete
graph are found from the links alone.

- A tree is a SCOT of one cluster, a complete graph of three or more brokers one of one region.
- With three clusters or more, an iLink lies on a triangle, because all brokers of a region are linked to each other; an
  aLink lies on none.
- With two clusters, every broker has one iLink. If a certain link is one, then those on its side are nearer to its one
  end than to its other, and the links across are the iLinks. The links of one broker are tried in turn.

The choice of cluster 0 is arbitrary: it has the graph's first broker. Regions are named after their broker in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import networkx as nx

from topology.link_properties import BrokerId, OverlayError
from topology.model import Overlay
from topology.structures.redundant_tree import recognised_nodes, with_nodes
from topology.structures.scot import Coordinates, scot_of, with_coordinates

_Ends = tuple[BrokerId, BrokerId]


def recognised(overlay: Overlay) -> Mapping[BrokerId, Coordinates] | None:
    """Coordinates that make the overlay a SCOT; None when there are none. The same for the same overlay."""
    for i_links in _possible_i_links(overlay.to_networkx()):
        coordinates = _coordinates(overlay.to_networkx(), i_links)
        try:
            scot_of(with_coordinates(overlay, coordinates))
        except OverlayError:
            continue
        return coordinates
    return None


def with_recognised_attributes(overlay: Overlay) -> Overlay:
    """The overlay with the brokers' attributes that its links alone imply; the overlay itself where they imply none.

    These are the coordinates of a SCOT and the nodes of a redundant tree.
    """
    coordinates, nodes = recognised(overlay), recognised_nodes(overlay)
    if coordinates is not None:
        overlay = with_coordinates(overlay, coordinates)
    return overlay if nodes is None else with_nodes(overlay, nodes)


def require_structure(overlay: Overlay) -> None:
    """Raises `OverlayError` where brokers' attributes name a structure that the links do not have."""
    if any({"region", "cluster"} <= broker.attributes.keys() for broker in overlay.brokers):
        scot_of(overlay)


def _possible_i_links(graph: nx.Graph[BrokerId]) -> Iterator[Collection[_Ends]]:
    """Candidates for the set of all iLinks, if the graph is a SCOT."""
    if nx.is_tree(graph):
        yield ()
        return
    in_triangles = [(a, b) for a, b in graph.edges if not graph[a].keys().isdisjoint(graph[b])]
    if in_triangles:
        yield in_triangles
        return
    first = next(iter(graph))
    distances = dict(nx.single_source_shortest_path_length(graph, first))
    for other in graph[first]:
        others = nx.single_source_shortest_path_length(graph, other)
        nearer = {broker for broker, distance in others.items() if distance < distances[broker]}
        yield [(a, b) for a, b in graph.edges if (a in nearer) != (b in nearer)]


def _coordinates(graph: nx.Graph[BrokerId], i_links: Collection[_Ends]) -> dict[BrokerId, Coordinates]:
    """Coordinates from parts: clusters remain without iLinks, regions without aLinks. `scot_of` checks them."""
    order = {broker: place for place, broker in enumerate(graph)}
    clusters, regions = graph.copy(), nx.Graph(i_links)
    clusters.remove_edges_from(i_links)
    regions.add_nodes_from(graph)
    index: dict[BrokerId, int] = {}
    for broker in graph:  # whose cluster comes first has the lower index
        if broker not in index:
            index |= dict.fromkeys(nx.node_connected_component(clusters, broker), max(index.values(), default=-1) + 1)
    coordinates: dict[BrokerId, Coordinates] = {}
    for part in nx.connected_components(regions):
        label = min(part, key=lambda broker: (index[broker], order[broker]))
        coordinates |= {broker: Coordinates(label, index[broker]) for broker in part}
    return coordinates
