"""Roles of brokers and links in an overlay, each a ranking with the strongest first.

| role | of brokers | ranked by |
|---|---|---|
| `cut-vertex` | whose loss cuts the overlay apart | how many brokers the rest loses with it |
| `hub` | all | number of links, greatest first |
| `edge-broker` | all | number of links, least first |
| `busiest` | all | how many of the fastest paths from publishers' to subscribers' brokers lead through |

| role | of links | ranked by |
|---|---|---|
| `bridge` | whose loss cuts the overlay apart | brokers in the smaller part |
| `busiest` | all | how many of those paths lead over it |

Equals keep the overlay's order, so that a role means the same broker each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import networkx as nx

from topology.link_properties import BrokerId, Link
from topology.model import Overlay

LinkEnds = tuple[BrokerId, BrokerId]

_HOP = 1e-6
"""Seconds that a link without delay counts, so that paths over such links differ in length."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The brokers that have publishers, and those that have subscribers."""

    publishing: frozenset[BrokerId]
    subscribing: frozenset[BrokerId]

    @classmethod
    def everywhere(cls, overlay: Overlay) -> Demand:
        """Publishers and subscribers at every broker."""
        brokers = frozenset(broker.id for broker in overlay.brokers)
        return cls(brokers, brokers)


def cut_vertices(overlay: Overlay, _demand: Demand) -> list[BrokerId]:
    """Brokers whose loss cuts the overlay apart."""
    graph = overlay.to_networkx()
    return _ranked(nx.articulation_points(graph), overlay_order(overlay), lambda broker: _lost_with(graph, broker))


def hubs(overlay: Overlay, _demand: Demand) -> list[BrokerId]:
    """All brokers, those with most links first."""
    order = overlay_order(overlay)
    return _ranked(order, order, lambda broker: len(overlay.neighbours(broker)))


def edge_brokers(overlay: Overlay, _demand: Demand) -> list[BrokerId]:
    """All brokers, those with fewest links first."""
    order = overlay_order(overlay)
    return _ranked(order, order, lambda broker: -len(overlay.neighbours(broker)))


def busiest_brokers(overlay: Overlay, demand: Demand) -> list[BrokerId]:
    """All brokers, those that carry most traffic first. (The ends of a path do not count.)"""
    graph = _with_lengths(overlay)
    through = nx.betweenness_centrality_subset(
        graph, _in_order(demand.publishing, overlay), _in_order(demand.subscribing, overlay), weight="length"
    )
    order = overlay_order(overlay)
    return _ranked(order, order, lambda broker: through[broker])


def bridges(overlay: Overlay, _demand: Demand) -> list[LinkEnds]:
    """Links whose loss cuts the overlay apart."""
    graph = overlay.to_networkx()
    critical = {frozenset(ends) for ends in nx.bridges(graph)}
    found = [ends for ends in links_order(overlay) if frozenset(ends) in critical]
    return sorted(found, key=lambda ends: -_smaller_side(graph, ends))


def links_between(overlay: Overlay, attribute: str) -> list[LinkEnds]:
    """Links whose ends differ in an attribute, in the overlay's order; none where brokers do not have it."""
    value = {broker.id: broker.attributes.get(attribute) for broker in overlay.brokers}
    return [(a, b) for a, b in links_order(overlay) if value[a] != value[b]]


def busiest_links(overlay: Overlay, demand: Demand) -> list[LinkEnds]:
    """All links, those that carry most traffic first."""
    graph = _with_lengths(overlay)
    over = nx.edge_betweenness_centrality_subset(
        graph, _in_order(demand.publishing, overlay), _in_order(demand.subscribing, overlay), weight="length"
    )
    load = {frozenset(ends): value for ends, value in over.items()}
    return sorted(links_order(overlay), key=lambda ends: -load[frozenset(ends)])


BROKER_ROLES: Mapping[str, Callable[[Overlay, Demand], list[BrokerId]]] = {
    "cut-vertex": cut_vertices,
    "hub": hubs,
    "edge-broker": edge_brokers,
    "busiest": busiest_brokers,
}
LINK_ROLES: Mapping[str, Callable[[Overlay, Demand], list[LinkEnds]]] = {
    "bridge": bridges,
    "busiest": busiest_links,
}


def overlay_order(overlay: Overlay) -> list[BrokerId]:
    """Brokers in the order of the overlay."""
    return [broker.id for broker in overlay.brokers]


def links_order(overlay: Overlay) -> list[LinkEnds]:
    """All links by their ends."""
    return list(overlay.pairs)


def _ranked(members: Iterable[BrokerId], order: list[BrokerId], rank: Callable[[BrokerId], float]) -> list[BrokerId]:
    playing = set(members)
    return sorted((broker for broker in order if broker in playing), key=lambda broker: -rank(broker))


def _lost_with(graph: nx.Graph[BrokerId], broker: BrokerId) -> int:
    """Brokers that the greatest part of the rest can no longer reach."""
    rest = graph.subgraph(node for node in graph if node != broker)
    return len(rest) - max(map(len, nx.connected_components(rest)))


def _smaller_side(graph: nx.Graph[BrokerId], ends: LinkEnds) -> int:
    without = nx.restricted_view(graph, [], [ends])
    return min(len(nx.node_connected_component(without, end)) for end in ends)


def _with_lengths(overlay: Overlay) -> nx.Graph[BrokerId]:
    graph = overlay.to_networkx()
    for link in overlay.links:
        graph[link.a][link.b]["length"] = _length(link)
    return graph


def _length(link: Link) -> float:
    return (link.forward.delay + link.backward.delay) / 2 + _HOP


def _in_order(brokers: frozenset[BrokerId], overlay: Overlay) -> list[BrokerId]:
    """Brokers in the overlay's order, so that floating-point sums are added in the same order each time."""
    return [broker for broker in overlay_order(overlay) if broker in brokers]
