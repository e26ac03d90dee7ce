"""The structure of a SCOT (structured cyclic overlay topology): clusters, regions, and the roles of brokers and links
(OctopiA, sections 3 and 4).

A SCOT is the Cartesian product of two graphs, and every broker's label is a pair: a vertex of the first, a vertex of
the second. Four properties make such a product a SCOT, and the overlay of every `Scot` has them:

1. Acyclic: the first factor, G_af, is a tree.
2. Connectivity: the second factor, G_cf, is complete.
3. Index: the vertices of G_cf are the integers from 0.
4. Label order: the vertex of G_af comes first in a label, that of G_cf second.

The brokers that share a vertex of G_cf are a *cluster*, a copy of the tree; those that share a vertex of G_af are a
*region*, all linked to each other. Links are *aLinks*, within a cluster, or *iLinks*, between clusters and within a
region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import networkx as nx

from topology.link_properties import BrokerId, Link, OverlayError
from topology.model import Broker, Overlay


@dataclass(frozen=True, slots=True, order=True)
class Coordinates:
    """A broker's label."""

    region: str
    """A vertex of the acyclic factor."""
    cluster: int
    """A vertex of the complete factor, from 0: the cluster index."""


@dataclass(frozen=True)
class Scot:
    """An overlay and the structure it has as a SCOT. Made by `scot_of`, which checks the four properties."""

    overlay: Overlay
    coordinates: Mapping[BrokerId, Coordinates]
    """The coordinates of every broker, in the overlay's order."""

    @cached_property
    def clusters(self) -> tuple[tuple[BrokerId, ...], ...]:
        """The brokers of each cluster, by cluster index; in every cluster in the order of the regions."""
        indexes = range(1 + max(coordinates.cluster for coordinates in self.coordinates.values()))
        return tuple(tuple(brokers[index] for brokers in self.regions.values()) for index in indexes)

    @cached_property
    def regions(self) -> Mapping[str, tuple[BrokerId, ...]]:
        """The brokers of each region, by its label; in every region in the order of the cluster indexes."""
        members: dict[str, list[BrokerId]] = {}
        for broker in sorted(self.coordinates, key=lambda broker: self.coordinates[broker].cluster):
            members.setdefault(self.coordinates[broker].region, []).append(broker)
        return {region: tuple(brokers) for region, brokers in members.items()}

    @cached_property
    def acyclic_factor(self) -> nx.Graph[str]:
        """G_af: the regions, and which of them aLinks join."""
        return _factor(self.overlay.links, self.coordinates)

    @cached_property
    def a_links(self) -> tuple[Link, ...]:
        """Intra-cluster overlay links, in the overlay's order."""
        return tuple(link for link in self.overlay.links if self.is_a_link(link.a, link.b))

    @cached_property
    def i_links(self) -> tuple[Link, ...]:
        """Inter-cluster overlay links, in the overlay's order."""
        return tuple(link for link in self.overlay.links if not self.is_a_link(link.a, link.b))

    @cached_property
    def inner_brokers(self) -> tuple[BrokerId, ...]:
        """Brokers with at least two primary neighbours, which make up whole regions."""
        return tuple(broker for broker in self.coordinates if len(self.primary_neighbours(broker)) >= 2)

    @cached_property
    def edge_brokers(self) -> tuple[BrokerId, ...]:
        """Brokers with at most one primary neighbour."""
        return tuple(broker for broker in self.coordinates if len(self.primary_neighbours(broker)) < 2)

    @cached_property
    def cluster_diameter(self) -> int:
        """diam(G_af): links on the longest path within a cluster, and so to any subscriber in the publisher's own.
        (Section 9.1)"""
        return int(nx.diameter(self.acyclic_factor))

    @property
    def diameter(self) -> int:
        """Links on the longest path, which is diam(G_af) + 1 where there are other clusters to go to."""
        return self.cluster_diameter + (len(self.clusters) > 1)

    def is_a_link(self, a: BrokerId, b: BrokerId) -> bool:
        """True if a link between these two brokers is within a cluster."""
        return self.coordinates[a].cluster == self.coordinates[b].cluster

    def broker(self, region: str, cluster: int) -> BrokerId:
        """The broker B(region, cluster). Raises `KeyError` if it does not exist."""
        try:
            return self.regions[region][cluster]
        except IndexError:
            raise KeyError((region, cluster)) from None

    def primary_neighbours(self, broker: BrokerId) -> tuple[BrokerId, ...]:
        """Neighbours of a broker in its own cluster."""
        return tuple(other for other in self.overlay.neighbours(broker) if self.is_a_link(broker, other))


def scot_of(overlay: Overlay) -> Scot:
    """The overlay as the SCOT that its brokers' attributes `region` and `cluster` make it.

    Raises `OverlayError`, naming the property that does not hold and a broker or link where it does not.
    """
    coordinates = {broker.id: _coordinates(broker) for broker in overlay.brokers}
    _check_index_property(coordinates)
    _check_links(overlay, coordinates)
    _check_connectivity_property(overlay, coordinates)
    _check_acyclic_property(overlay, coordinates)
    return Scot(overlay, coordinates)


def with_coordinates(overlay: Overlay, coordinates: Mapping[BrokerId, Coordinates]) -> Overlay:
    """A copy of an overlay with the attributes `region` and `cluster` on every broker."""
    brokers = (
        Broker(broker.id, {**broker.attributes, "region": place.region, "cluster": place.cluster})
        for broker in overlay.brokers
        for place in (coordinates[broker.id],)
    )
    return Overlay(overlay.name, tuple(brokers), overlay.links)


def _coordinates(broker: Broker) -> Coordinates:
    region, cluster = broker.attributes.get("region"), broker.attributes.get("cluster")
    if region is None or cluster is None:
        missing = "region" if region is None else "cluster"
        raise OverlayError(f"not a SCOT: broker {broker.id} has no attribute `{missing}`; a topology of kind scot has")
    if not isinstance(cluster, int) or isinstance(cluster, bool):
        raise OverlayError(f"not a SCOT: the cluster of broker {broker.id} is {cluster!r}; use the integers from 0")
    return Coordinates(str(region), cluster)


def _check_index_property(coordinates: Mapping[BrokerId, Coordinates]) -> None:
    """Checks the index property, and that every pair of a region and an index has one broker."""
    brokers: dict[Coordinates, BrokerId] = {}
    for broker, place in coordinates.items():
        if (other := brokers.setdefault(place, broker)) != broker:
            raise OverlayError(f"not a SCOT: {other} and {broker} are both in {_named(place)}")
    indexes = sorted({place.cluster for place in brokers})
    if indexes != list(range(len(indexes))):
        listed = ", ".join(map(str, indexes))
        raise OverlayError(f"not a SCOT: its cluster indexes are {listed}; they must be the integers from 0")
    for region in dict.fromkeys(place.region for place in brokers):
        for index in indexes:
            if (place := Coordinates(region, index)) not in brokers:
                raise OverlayError(f"not a SCOT: there is no broker in {_named(place)}")


def _check_links(overlay: Overlay, coordinates: Mapping[BrokerId, Coordinates]) -> None:
    """Every link joins brokers of one region or of one cluster (Eq. 2)."""
    for link in overlay.links:
        a, b = coordinates[link.a], coordinates[link.b]
        if a.region != b.region and a.cluster != b.cluster:
            raise OverlayError(
                f"not a SCOT: link {link.a} - {link.b} joins brokers of different regions and different clusters"
            )


def _check_connectivity_property(overlay: Overlay, coordinates: Mapping[BrokerId, Coordinates]) -> None:
    unlinked = _unlinked(overlay, coordinates, lambda place: place.region)
    if unlinked is None:
        return
    a, b = unlinked
    if _unlinked(overlay, coordinates, lambda place: place.cluster) is None:
        raise OverlayError(
            "not a SCOT: its clusters are complete graphs and its regions are not: the labels are in the wrong order; "
            "the acyclic factor gives the region, the complete one the cluster"
        )
    region = coordinates[a].region
    raise OverlayError(f"not a SCOT: {a} and {b} of region {region} are not linked; a region is a complete graph")


def _unlinked(
    overlay: Overlay, coordinates: Mapping[BrokerId, Coordinates], part: Callable[[Coordinates], object]
) -> tuple[BrokerId, BrokerId] | None:
    """Two brokers of one part that are not linked; None when every part is a complete graph."""
    linked = {frozenset((link.a, link.b)) for link in overlay.links}
    parts: dict[object, list[BrokerId]] = {}
    for broker, place in coordinates.items():
        parts.setdefault(part(place), []).append(broker)
    pairs = (pair for members in parts.values() for pair in combinations(members, 2))
    return next((pair for pair in pairs if frozenset(pair) not in linked), None)


def _check_acyclic_property(overlay: Overlay, coordinates: Mapping[BrokerId, Coordinates]) -> None:
    """Checks the acyclic property, and that every cluster is a copy of the same tree."""
    whole = _factor(overlay.links, coordinates)
    if not nx.is_tree(whole):
        regions = " - ".join(region for region, _ in nx.find_cycle(whole))
        raise OverlayError(f"not a SCOT: the links within clusters make a cycle of the regions {regions}")
    for index in sorted({place.cluster for place in coordinates.values()}):
        within = [link for link in overlay.links if coordinates[link.a].cluster == coordinates[link.b].cluster == index]
        for a, b in nx.difference(whole, _factor(within, coordinates)).edges:
            raise OverlayError(f"not a SCOT: regions {a} and {b} are linked in other clusters, not in cluster {index}")


def _factor(links: Iterable[Link], coordinates: Mapping[BrokerId, Coordinates]) -> nx.Graph[str]:
    """The regions, and those of them that these links join within clusters."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(place.region for place in coordinates.values())
    for link in links:
        a, b = coordinates[link.a], coordinates[link.b]
        if a.cluster == b.cluster:
            graph.add_edge(a.region, b.region)
    return graph


def _named(place: Coordinates) -> str:
    return f"region {place.region}, cluster {place.cluster}"
