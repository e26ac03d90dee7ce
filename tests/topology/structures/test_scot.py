"""The structure of SCOTs, and the properties that make an overlay one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology import shapes
from topology.link_properties import OverlayError
from topology.links import LinkTemplates, build
from topology.model import Broker, Overlay
from topology.structures.scot import Coordinates, Scot, scot_of, with_coordinates

CATERPILLAR = shapes.explicit([("A", "B"), ("B", "C"), ("B", "X"), ("C", "D")])


def scot(acyclic: nx.Graph[str], clusters: int) -> Scot:
    return scot_of(build("o", shapes.scot(acyclic, clusters), LinkTemplates(), 1))


def test_clusters_regions_and_the_kinds_of_brokers_and_links() -> None:
    found = scot(CATERPILLAR, 3)
    assert found.clusters[1] == ("A1", "B1", "C1", "X1", "D1")
    assert found.regions["X"] == ("X0", "X1", "X2")
    assert found.broker("C", 2) == "C2"
    assert found.coordinates["D0"] == Coordinates("D", 0)
    assert {(link.a, link.b) for link in found.a_links} >= {("A0", "B0"), ("B2", "X2")}
    assert {(link.a, link.b) for link in found.i_links} >= {("A0", "A1"), ("A0", "A2"), ("A1", "A2")}
    assert found.inner_brokers == ("B0", "B1", "B2", "C0", "C1", "C2")
    assert set(found.edge_brokers) == {f"{region}{cluster}" for region in "AXD" for cluster in range(3)}
    assert set(found.primary_neighbours("B1")) == {"A1", "C1", "X1"}
    assert set(found.overlay.neighbours("B1")) - set(found.primary_neighbours("B1")) == {"B0", "B2"}
    assert (found.cluster_diameter, found.diameter) == (3, 4)


@pytest.mark.parametrize(("region", "cluster"), [("Q", 0), ("A", 3)])
def test_a_broker_that_is_not_there(region: str, cluster: int) -> None:
    with pytest.raises(KeyError):
        scot(CATERPILLAR, 3).broker(region, cluster)


@given(regions=st.integers(1, 8), clusters=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_the_structure_is_that_of_the_two_factors(regions: int, clusters: int, seed: int) -> None:
    """There is a copy of the one factor for each vertex of the other. (Section 3.2)"""
    acyclic = shapes.lettered(shapes.random_tree(regions, random.Random(seed)))
    found = scot(acyclic, clusters)
    graph = found.overlay.to_networkx()
    assert nx.utils.graphs_equal(found.acyclic_factor, nx.Graph(acyclic.edges) if regions > 1 else _single(acyclic))
    assert len(found.clusters) == clusters
    for cluster in found.clusters:
        assert nx.is_isomorphic(graph.subgraph(cluster), acyclic)
    assert list(found.regions) == list(acyclic)
    for region in found.regions.values():
        assert nx.is_isomorphic(graph.subgraph(region), nx.complete_graph(clusters))
    assert len(found.a_links) == clusters * (regions - 1)
    assert len(found.i_links) == regions * clusters * (clusters - 1) // 2
    assert {*found.a_links, *found.i_links} == set(found.overlay.links)
    assert sorted((*found.inner_brokers, *found.edge_brokers)) == sorted(graph)
    for broker, place in found.coordinates.items():
        assert (broker in found.inner_brokers) == (acyclic.degree(place.region) > 1)
        assert {*found.primary_neighbours(broker), *found.regions[place.region]} - {broker} == set(graph[broker])
    assert found.diameter == nx.diameter(graph)


def _single(tree: nx.Graph[str]) -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(tree)
    return graph


def _with_attribute(overlay: Overlay, broker: str, **attributes: str | float) -> Overlay:
    brokers = (
        Broker(each.id, {**each.attributes, **attributes}) if each.id == broker else each for each in overlay.brokers
    )
    return replace(overlay, brokers=tuple(brokers))


def _without(overlay: Overlay, *links: tuple[str, str]) -> Overlay:
    return replace(overlay, links=tuple(link for link in overlay.links if (link.a, link.b) not in links))


def _with_link(overlay: Overlay, a: str, b: str) -> Overlay:
    return replace(overlay, links=(*overlay.links, replace(overlay.links[0], a=a, b=b)))


def _exchanged(overlay: Overlay) -> Overlay:
    """The factors in the wrong order."""
    letters = {letter: number for number, letter in enumerate("ABCX")}
    brokers = (
        Broker(each.id, {"region": each.attributes["cluster"], "cluster": letters[str(each.attributes["region"])]})
        for each in overlay.brokers
    )
    return replace(overlay, brokers=tuple(brokers))


def _without_broker(overlay: Overlay, broker: str) -> Overlay:
    return Overlay(
        overlay.name,
        tuple(each for each in overlay.brokers if each.id != broker),
        tuple(link for link in overlay.links if broker not in (link.a, link.b)),
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda overlay: _with_attribute(overlay, "A1", cluster="1"), "the cluster of broker A1 is '1'; use"),
        (lambda overlay: _with_attribute(overlay, "A1", cluster=1.0), "the cluster of broker A1 is 1.0; use"),
        (lambda overlay: _with_attribute(overlay, "A1", cluster=True), "the cluster of broker A1 is True; use"),
        (lambda overlay: _with_attribute(overlay, "A1", cluster=2), "A1 and A2 are both in region A, cluster 2"),
        (lambda overlay: _with_attribute(overlay, "A1", cluster=7), "indexes are 0, 1, 2, 7; they must be the int"),
        (lambda overlay: _without_broker(overlay, "X2"), "there is no broker in region X, cluster 2"),
        (lambda overlay: _with_link(overlay, "A0", "B1"), "link A0 - B1 joins brokers of different regions and"),
        (lambda overlay: _without(overlay, ("B0", "B2")), "B0 and B2 of region B are not linked; a region is a"),
        (_exchanged, "the labels are in the wrong order"),
        (lambda overlay: _with_link(overlay, "A1", "X1"), "make a cycle of the regions"),
        (lambda overlay: _without(overlay, ("A2", "B2")), "regions A and B are linked in other clusters, not in clust"),
    ],
)
def test_what_is_no_scot_is_refused(spoil: Callable[[Overlay], Overlay], message: str) -> None:
    whole = build("o", shapes.scot(shapes.explicit([("A", "B"), ("B", "X"), ("B", "C")]), 3), LinkTemplates(), 1)
    scot_of(whole)
    with pytest.raises(OverlayError, match=r"^not a SCOT: ") as raised:
        scot_of(spoil(whole))
    assert message in str(raised.value)


def test_coordinates_make_an_overlay_a_scot() -> None:
    ring = build("o", shapes.ring(4), LinkTemplates(), 1)
    with pytest.raises(OverlayError, match="broker B1 has no attribute `region`; a topology of kind scot has"):
        scot_of(ring)
    places = {"B1": ("x", 0), "B2": ("y", 0), "B3": ("y", 1), "B4": ("x", 1)}
    placed = with_coordinates(ring, {broker: Coordinates(*place) for broker, place in places.items()})
    assert scot_of(placed).clusters == (("B1", "B2"), ("B4", "B3"))
