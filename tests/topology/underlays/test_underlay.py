"""Latencies and paths over a network of routers, against NetworkX, and the file that keeps them."""

from __future__ import annotations

import dataclasses
import random
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology.link_properties import OverlayError
from topology.underlays.transit_stub import TransitStub, attach, routers
from topology.underlays.underlay import RouterLink, Underlay, UnderlayRouter
from topology.underlays.underlay_files import load_underlay, save_underlay

SMALL = st.builds(
    TransitStub,
    transit_domains=st.integers(1, 3),
    transit_routers=st.integers(1, 3),
    stubs=st.integers(1, 2),
    stub_routers=st.integers(1, 4),
)
UNDERLAYS = st.builds(
    lambda parameters, servers, seed: attach(
        routers(parameters, random.Random(seed)), servers, 0.001, random.Random(seed)
    ),
    SMALL,
    st.integers(1, 12),
    st.integers(0, 2**32),
)

LINE = Underlay(
    routers=(UnderlayRouter(0, -1), UnderlayRouter(0, 0), UnderlayRouter(0, 0)),
    links=(RouterLink(0, 1, 0.010), RouterLink(2, 1, 0.002)),
    servers={"A": 0, "B": 2, "C": 2},
    lan_delay=0.001,
)
"""Routers 0 - 1 - 2 with a server at one end and two at the other."""


def _graph(underlay: Underlay) -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph()
    for number, link in enumerate(underlay.links):
        graph.add_edge(f"router {link.a}", f"router {link.b}", delay=link.delay, number=number)
    for number, (server, router) in enumerate(underlay.servers.items(), start=len(underlay.links)):
        graph.add_edge(server, f"router {router}", delay=underlay.lan_delay, number=number)
    return graph


@settings(max_examples=50)
@given(underlay=UNDERLAYS)
def test_paths_and_latencies_are_those_of_networkx(underlay: Underlay) -> None:
    graph, delays = _graph(underlay), underlay.delays
    servers = list(underlay.servers)
    table = underlay.latencies(servers)
    for row, a in enumerate(servers):
        distances = nx.single_source_dijkstra_path_length(graph, a, weight="delay")
        for column, b in enumerate(servers):
            assert underlay.latency(a, b) == table[row, column] == pytest.approx(distances[b])
            nodes = nx.shortest_path(graph, a, b, weight="delay")
            expected = [graph.edges[edge]["number"] for edge in pairwise(nodes)]
            path = underlay.path(a, b)
            assert list(path) == expected, "delays are drawn from ranges, so that no two paths are equally fast"
            assert delays[list(path)].sum() == pytest.approx(underlay.latency(a, b))
        assert underlay.paths(a, servers) == {link for b in servers for link in underlay.path(a, b)}


def test_links_are_numbered_routers_first() -> None:
    assert LINE.delays.tolist() == [0.010, 0.002, 0.001, 0.001, 0.001]
    assert LINE.path("A", "B") == (2, 0, 1, 3)
    assert LINE.path("B", "A") == (3, 1, 0, 2)
    assert LINE.path("B", "C") == (3, 4), "servers at one router still have a LAN link each"
    assert (LINE.path("A", "A"), LINE.latency("A", "A")) == ((), 0.0)
    assert LINE.paths("A", ["B", "C"]) == {2, 0, 1, 3, 4}
    assert LINE.paths("A", ["A"]) == LINE.paths("A", []) == set()
    assert LINE.latency("A", "C") == pytest.approx(0.014)


def test_unknown_servers_are_refused() -> None:
    for ends in (("A", "Z"), ("Z", "A"), ("Z", "Z")):
        with pytest.raises(KeyError):
            LINE.latency(*ends)
        with pytest.raises(KeyError):
            LINE.path(*ends)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"links": (RouterLink(0, 3, 0.1),)}, "between the routers 0 and 3: there are 3 routers"),
        ({"links": (RouterLink(-1, 0, 0.1),)}, "there are 3 routers"),
        ({"links": (RouterLink(0, 1, -0.1),)}, "zero or more seconds, not -0.1"),
        ({"lan_delay": float("nan")}, "zero or more seconds, not nan"),
        ({"servers": {"A": 3}}, "server A is at router 3; there are 3 routers"),
    ],
)
def test_impossible_networks_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(OverlayError, match=message):
        dataclasses.replace(LINE, **change)  # type: ignore[arg-type]


@settings(max_examples=20)
@given(underlay=UNDERLAYS)
def test_the_file_keeps_everything(underlay: Underlay, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("underlay") / "underlay.json"
    save_underlay(underlay, path)
    again = load_underlay(path)
    assert again == underlay
    assert list(again.servers) == list(underlay.servers), "LAN links keep their numbers"
    servers = list(underlay.servers)
    assert np.array_equal(again.latencies(servers), underlay.latencies(servers))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not an underlay file"),
        (b"\xff", "not an underlay file"),
        (b'{"schema":2,"lan_delay":0,"routers":[],"links":[],"servers":{}}', "schema 2 is not known"),
        (b'{"schema":1,"lan_delay":0,"routers":[],"links":[],"servers":{"A":0}}', "server A is at router 0"),
        (b'{"schema":1,"lan_delay":0,"routers":[],"links":[],"servers":{},"x":1}', "unknown field"),
    ],
)
def test_files_that_are_wrong_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "underlay.json"
    path.write_bytes(content)
    with pytest.raises(OverlayError, match=f"underlay.json: .*{message}"):
        load_underlay(path)
