"""The parts that brokers and links play, against NetworkX and against what losing them really does."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenario.faults.roles import BROKER_ROLES, LINK_ROLES, Demand, links_between
from scenario.faults.targets import Targets
from tests.scenario.faults.overlays import DUMBBELL, overlay_of, random_overlay, without
from topology import shapes
from topology.link_properties import BrokerId, LinkDirection
from topology.links import LinkTemplates, build
from topology.model import Overlay


def brokers(role: str, overlay: Overlay, demand: Demand | None = None) -> list[BrokerId]:
    return BROKER_ROLES[role](overlay, demand or Demand.everywhere(overlay))


def links(role: str, overlay: Overlay, demand: Demand | None = None) -> list[tuple[BrokerId, BrokerId]]:
    return LINK_ROLES[role](overlay, demand or Demand.everywhere(overlay))


OVERLAYS = st.builds(random_overlay, st.integers(0, 10_000), st.integers(3, 25))


@given(OVERLAYS)
def test_cut_vertices_cut_and_no_others_do(overlay: Overlay) -> None:
    found = brokers("cut-vertex", overlay)
    assert set(found) == set(nx.articulation_points(overlay.to_networkx()))
    for broker in overlay.brokers:
        assert (broker.id in found) != nx.is_connected(without(overlay, broker.id))


@given(OVERLAYS)
def test_cut_vertices_come_by_what_is_lost(overlay: Overlay) -> None:
    kept = [max(map(len, nx.connected_components(without(overlay, b)))) for b in brokers("cut-vertex", overlay)]
    assert kept == sorted(kept)


@given(OVERLAYS)
def test_bridges_cut_and_no_other_links_do(overlay: Overlay) -> None:
    found = links("bridge", overlay)
    sides = []
    for link in overlay.links:
        graph = overlay.to_networkx()
        graph.remove_edge(link.a, link.b)
        assert ((link.a, link.b) in found) != nx.is_connected(graph)
    for a, b in found:
        graph = overlay.to_networkx()
        graph.remove_edge(a, b)
        sides.append(min(map(len, nx.connected_components(graph))))
    assert sides == sorted(sides, reverse=True)


@given(OVERLAYS)
def test_hubs_and_edge_brokers_come_by_degree(overlay: Overlay) -> None:
    degree = overlay.to_networkx().degree
    assert [degree[b] for b in brokers("hub", overlay)] == sorted((d for _, d in degree), reverse=True)
    assert [degree[b] for b in brokers("edge-broker", overlay)] == sorted(d for _, d in degree)


@given(OVERLAYS, st.data())
def test_the_busiest_is_on_most_fastest_paths(overlay: Overlay, data: st.DataObject) -> None:
    names = st.sampled_from([broker.id for broker in overlay.brokers])
    demand = Demand(data.draw(st.frozensets(names, min_size=1)), data.draw(st.frozensets(names, min_size=1)))
    graph = overlay.to_networkx()
    through = dict.fromkeys(graph, 0.0)
    for source in demand.publishing:
        for target in demand.subscribing - {source}:
            paths = list(nx.all_shortest_paths(graph, source, target))
            for path in paths:
                for broker in path[1:-1]:
                    through[broker] += 1 / len(paths)
    ranked = [through[broker] for broker in brokers("busiest", overlay, demand)]
    assert ranked == pytest.approx(sorted(ranked, reverse=True))


def test_delays_decide_which_path_is_fastest() -> None:
    slow, quick = (
        overlay_of(("A", "S"), ("S", "Z"), delay=0.1),
        overlay_of(("A", "Q"), ("Q", "R"), ("R", "Z"), delay=0.01),
    )
    both = Overlay("both", (*slow.brokers, *quick.brokers[1:3]), slow.links + quick.links)
    demand = Demand(frozenset({"A"}), frozenset({"Z"}))
    assert brokers("busiest", both, demand)[:2] == ["Q", "R"]
    assert links("busiest", both, demand)[:3] == [("A", "Q"), ("Q", "R"), ("R", "Z")]


def test_the_dumbbell() -> None:
    assert brokers("cut-vertex", DUMBBELL) == ["M", "A1", "Z1"]
    assert links("bridge", DUMBBELL) == [("A1", "M"), ("M", "Z1")]
    assert brokers("edge-broker", DUMBBELL)[0] == "A2"
    assert brokers("hub", DUMBBELL)[:2] == ["A1", "Z1"]


def test_links_between_clusters_of_a_scot() -> None:
    overlay = build("scot", shapes.scot(shapes.explicit([("A", "B"), ("B", "C")]), 3), LinkTemplates(), seed=1)
    found = links_between(overlay, "cluster")
    assert len(found) == 3 * 3, "three regions, each a triangle"
    assert all(a[0] == b[0] and a[1] != b[1] for a, b in found)
    assert links_between(DUMBBELL, "cluster") == []
    assert Targets(overlay, seed=1).directions(["links-between(cluster)"])[::2] == tuple(
        LinkDirection(*ends) for ends in found
    )
