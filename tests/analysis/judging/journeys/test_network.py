"""Merged paths against unions of paths that NetworkX finds, and crossed links by hand."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.journeys import network as network_module
from analysis.judging.journeys.network import Network, networks_of
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay
from topology.underlays.underlay import RouterLink, Underlay, UnderlayRouter

SERVERS = ("A", "B", "C")
LINE = Underlay(
    routers=(UnderlayRouter(0, -1),) * 3,
    links=(RouterLink(0, 1, 0.010), RouterLink(1, 2, 0.020)),
    servers={"C": 2, "A": 0, "B": 1},
    lan_delay=0.001,
)
"""Not in the order of `SERVERS`, as an overlay may list its brokers in another one."""
DELAYS = st.permutations(range(1, 16))
"""Exponents of the delays of all links between six routers: powers of two, so that no two paths are equally long."""


@given(delays=DELAYS, source=st.integers(0, 5), wanted=st.sets(st.integers(0, 5), min_size=1))
def test_ideal_is_the_sum_of_merged_paths(delays: list[int], source: int, wanted: set[int]) -> None:
    links = [
        RouterLink(a, b, 2.0**-delay) for (a, b), delay in zip(itertools.combinations(range(6), 2), delays, strict=True)
    ]
    names = [f"B{number}" for number in range(6)]
    underlay = Underlay(
        routers=(UnderlayRouter(0, -1),) * 6, links=tuple(links), lan_delay=0.5,
        servers={name: number for number, name in enumerate(names)},
    )  # fmt: skip
    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from((link.a, link.b, link.delay) for link in links)
    destinations = wanted - {source}
    crossed = {
        (min(edge), max(edge))
        for destination in destinations
        for edge in itertools.pairwise(nx.shortest_path(graph, source, destination, weight="weight"))
    }
    merged = sum(graph.edges[edge]["weight"] for edge in crossed)
    lan = 0.5 * (len(destinations) + bool(destinations))
    assert Network(underlay, names).ideal(source, np.array(sorted(destinations), np.int64)) == merged + lan


def test_latencies_and_crossings_have_the_order_of_the_servers() -> None:
    """Links are r0-r1, r1-r2, and the LAN links of C, A and B, as the underlay lists its servers."""
    network = Network(LINE, SERVERS)
    assert network.latencies[0] == pytest.approx([0, 0.012, 0.032])
    crossed = network.crossings(np.array([0, 0, 1]), np.array([2, 1, 0]))
    assert crossed.tolist() == [3, 1, 1, 3, 2]


def test_ideals_are_forgotten_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_module, "IDEALS_KEPT", 2)
    network = Network(LINE, SERVERS)
    for _ in range(2):
        found = [network.ideal(0, np.array(wanted)) for wanted in ([1], [2], [1, 2])]
        assert found == pytest.approx([0.012, 0.032, 0.033])
    assert len(network._ideals) <= 2


def test_variants_share_the_network_of_their_overlay() -> None:
    links = tuple(Link(a, b, LinkProperties(), LinkProperties()) for a, b in itertools.combinations(SERVERS, 2))
    one, other = (Overlay("mesh", tuple(map(Broker, servers)), links) for servers in (SERVERS, SERVERS[::-1]))
    networks = networks_of({0: (LINE, one), 1: (LINE, other), 3: (LINE, one)})
    assert list(networks) == [0, 1, 3]
    assert networks[0] is networks[3]
    assert networks[1].servers == ["C", "B", "A"]


def test_paths_are_found_when_they_are_needed() -> None:
    """A new network is sent to workers, and its paths would be a hundred times as large."""
    underlay = replace(LINE)
    (network,) = networks_of({0: (underlay, Overlay("one", (Broker("A"),), ()))}).values()
    assert "_delays" not in vars(underlay)
    sent = pickle.loads(pickle.dumps(network))
    assert sent.latencies.tolist() == [[0.0]]
    assert "_delays" in vars(sent.underlay)
    assert "_delays" not in vars(underlay)
