from __future__ import annotations

import itertools
from collections import Counter

import msgspec
import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.multi_host.model import Member
from emulation.multi_host.placement import links_between_hosts, place_brokers
from record.errors import BadInputError
from topology.link_properties import Link
from topology.model import Broker, Overlay


def overlay_of(graph: networkx.Graph[int]) -> Overlay:
    brokers = tuple(Broker(f"B{node}") for node in graph.nodes)
    return Overlay("test", brokers, tuple(Link(f"B{a}", f"B{b}") for a, b in graph.edges))


def members(count: int, **wanted: tuple[str, ...]) -> tuple[Member, ...]:
    names = [f"h{number}" for number in range(1, count + 1)]
    return tuple(
        Member(name=name, address=f"10.9.0.{number}", brokers=wanted.get(name, ())) for number, name in enumerate(names)
    )


@st.composite
def overlays(draw: st.DrawFn) -> Overlay:
    brokers = draw(st.integers(2, 12))
    pairs = list(itertools.combinations(range(brokers), 2))
    graph: networkx.Graph[int] = networkx.Graph()
    graph.add_edges_from((draw(st.integers(0, node - 1)), node) for node in range(1, brokers))
    graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), unique=True)))
    return overlay_of(graph)


@given(overlay=overlays(), hosts=st.integers(1, 5))
def test_hosts_get_as_many_brokers_as_each_other(overlay: Overlay, hosts: int) -> None:
    hosts = min(hosts, len(overlay.brokers))
    placement = place_brokers(overlay, members(hosts))
    assert list(placement) == [broker.id for broker in overlay.brokers]
    counts = Counter(placement.values())
    assert len(counts) == hosts
    assert max(counts.values()) - min(counts.values()) <= 1
    assert placement == place_brokers(overlay, members(hosts))


@given(overlay=overlays())
def test_no_exchange_of_two_brokers_would_let_fewer_links_cross(overlay: Overlay) -> None:
    placement = dict(place_brokers(overlay, members(2)))
    for first, second in itertools.combinations(placement, 2):
        exchanged = placement | {first: placement[second], second: placement[first]}
        assert links_between_hosts(overlay, exchanged) >= links_between_hosts(overlay, placement)


@pytest.mark.parametrize(
    ("graph", "hosts", "most"),
    [
        (networkx.path_graph(9), 3, 2),
        (networkx.cycle_graph(12), 2, 2),
        (networkx.barbell_graph(5, 0), 2, 1),
    ],
    ids=["line", "ring", "barbell"],
)
def test_few_links_cross_where_few_need_to(graph: networkx.Graph[int], hosts: int, most: int) -> None:
    assert links_between_hosts(overlay_of(graph), place_brokers(overlay_of(graph), members(hosts))) == most


def test_what_the_inventory_wants_is_done_and_the_rest_is_spread() -> None:
    overlay = overlay_of(networkx.path_graph(6))
    placement = place_brokers(overlay, members(2, h2=("B0", "B5", "another-scenario's")))
    assert placement["B0"] == placement["B5"] == "h2"
    assert Counter(placement.values()) == {"h1": 3, "h2": 3}
    everything = place_brokers(overlay, members(2, h1=tuple(f"B{n}" for n in range(5)), h2=("B5",)))
    assert Counter(everything.values()) == {"h1": 5, "h2": 1}


def test_hosts_get_brokers_by_their_weights() -> None:
    overlay = overlay_of(networkx.path_graph(12))

    def placed(*weights: float, **wanted: tuple[str, ...]) -> list[int]:
        hosts = [
            msgspec.structs.replace(host, weight=weight)
            for host, weight in zip(members(len(weights), **wanted), weights, strict=True)
        ]
        placement = place_brokers(overlay, hosts)
        assert links_between_hosts(overlay, placement) == len(weights) - 1
        return [Counter(placement.values())[host.name] for host in hosts]

    assert placed(1, 2, 1) == [3, 6, 3]
    assert placed(8, 16, 8) == [3, 6, 3]
    assert placed(0.5, 2.5) == [2, 10]
    assert placed(1, 2, 1, h1=("B0", "B1", "B2", "B3")) == [4, 6, 2]  # what is wanted counts
    with pytest.raises(BadInputError, match="h2 would have no broker by brokerlab_brokers and brokerlab_weight"):
        placed(100, 1)


def test_what_cannot_be_placed_is_told() -> None:
    overlay = overlay_of(networkx.path_graph(3))
    with pytest.raises(BadInputError, match="B1 is wanted on h1 and on h2; leave one out"):
        place_brokers(overlay, members(2, h1=("B1",), h2=("B1",)))
    with pytest.raises(BadInputError, match="3 brokers cannot be on 4 hosts"):
        place_brokers(overlay, members(4))
    with pytest.raises(BadInputError, match=r"h2 would have no broker"):
        place_brokers(overlay, members(2, h1=("B0", "B1", "B2")))
