"""Transit-stub networks, against their description and against NetworkX's paths."""

from __future__ import annotations

import random
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology.link_properties import OverlayError
from topology.links import Range
from topology.underlays.transit_stub import (
    STUB_DELAY,
    TRANSIT_DELAY,
    TRANSIT_STUB_DELAY,
    TransitStub,
    attach,
    routers,
    server_mesh,
)

MEDYM = TransitStub(links=4469)
SEEDS = st.integers(0, 2**32)
SMALL = st.builds(
    TransitStub,
    transit_domains=st.integers(1, 5),
    transit_routers=st.integers(1, 4),
    stubs=st.integers(1, 3),
    stub_routers=st.integers(1, 5),
    domain_degree=st.floats(0.5, 6),
    density=st.floats(0, 1),
)


def test_medyms_network_has_2500_routers_and_8938_arcs() -> None:
    network = routers(MEDYM, random.Random(1))
    assert (len(network), network.to_directed().number_of_edges()) == (2500, 8938)
    assert nx.is_connected(network)
    transit = [data["domain"] for _, data in network.nodes(data=True) if data["stub"] == -1]
    assert (len(transit), len(set(transit))) == (100, 20)
    linked = {
        frozenset((network.nodes[a]["domain"], network.nodes[b]["domain"]))
        for a, b in network.edges
        if network.nodes[a]["domain"] != network.nodes[b]["domain"]
    }
    assert len(linked) == 20 * 19 / 2, "every two transit domains"
    stubs = Counter(data["stub"] for _, data in network.nodes(data=True) if data["stub"] >= 0)
    assert (len(stubs), sum(stubs.values())) == (300, 2400)
    assert len(set(stubs.values())) > 5, "sizes vary around their mean"


@given(parameters=SMALL, seed=SEEDS)
def test_the_network_is_what_its_parameters_say(parameters: TransitStub, seed: int) -> None:
    network = routers(parameters, random.Random(seed))
    transit = parameters.transit_domains * parameters.transit_routers
    stubs = transit * parameters.stubs
    assert len(network) == transit + stubs * parameters.stub_routers
    assert nx.is_connected(network)
    uplinks: Counter[int] = Counter()
    for a, b, delay in network.edges(data="delay"):
        of_a, of_b = network.nodes[a], network.nodes[b]
        if of_a["stub"] == of_b["stub"] == -1:
            expected = TRANSIT_DELAY
        elif -1 in (of_a["stub"], of_b["stub"]):
            expected = TRANSIT_STUB_DELAY
            assert of_a["domain"] == of_b["domain"]
            uplinks[max(of_a["stub"], of_b["stub"])] += 1
        else:
            expected = STUB_DELAY
            assert of_a["stub"] == of_b["stub"]
        assert expected.low <= delay <= expected.high
    assert uplinks == dict.fromkeys(range(stubs), 1)


@settings(max_examples=30)
@given(parameters=SMALL, servers=st.integers(1, 12), seed=SEEDS)
def test_the_mesh_has_the_fastest_paths(parameters: TransitStub, servers: int, seed: int) -> None:
    network = routers(parameters, random.Random(seed))
    mesh = server_mesh(attach(network, servers, 0.001, random.Random(seed)))
    assert [broker.id for broker in mesh.brokers] == [f"B{number}" for number in range(1, servers + 1)]
    for a in mesh.brokers:
        assert network.nodes[a.attributes["router"]]["stub"] == a.attributes["stub"]
        distances = nx.single_source_dijkstra_path_length(network, a.attributes["router"], weight="delay")
        for b in mesh.brokers:
            expected = 0.0 if a == b else distances[b.attributes["router"]] + 0.002
            assert mesh.delay(a.id, b.id) == pytest.approx(expected, rel=1e-12)


@given(servers=st.integers(1, 60), seed=SEEDS)
def test_routers_have_a_second_server_only_when_all_have_one(servers: int, seed: int) -> None:
    network = routers(TransitStub(transit_domains=2, transit_routers=2, stubs=1, stub_routers=4), random.Random(1))
    mesh = server_mesh(attach(network, servers, 0.001, random.Random(seed)))
    at = Counter(broker.attributes["router"] for broker in mesh.brokers)
    full, rest = divmod(servers, len(network))
    assert sorted(at[router] for router in network) == [full] * (len(network) - rest) + [full + 1] * rest


def test_one_seed_one_network() -> None:
    small = TransitStub(transit_domains=3, links=600)
    once, again = routers(small, random.Random(1)), routers(small, random.Random(1))
    assert list(once.edges(data=True)) == list(again.edges(data=True))
    meshes = [server_mesh(attach(once, 30, 0.001, random.Random(seed))) for seed in (1, 1, 2)]
    assert np.array_equal(meshes[0].delays, meshes[1].delays)
    assert not np.array_equal(meshes[0].delays, meshes[2].delays)


def test_the_density_says_how_many_pairs_of_a_domain_are_linked() -> None:
    tree, complete = (
        routers(TransitStub(transit_domains=1, stub_delay=Range(0, 0), density=density), random.Random(1))
        for density in (0.0, 1.0)
    )
    assert nx.is_tree(tree)
    for stub in range(15):
        members = [node for node, of in complete.nodes(data="stub") if of == stub]
        assert nx.density(complete.subgraph(members)) == (1 if len(members) > 1 else 0)


def test_impossible_numbers_of_links_are_refused() -> None:
    with pytest.raises(OverlayError, match=r"can have \d+ to \d+ links, not 10\b"):
        routers(TransitStub(links=10), random.Random(1))
    with pytest.raises(OverlayError, match="links, not 1000000"):
        routers(TransitStub(links=1_000_000), random.Random(1))


@pytest.mark.parametrize("parameters", [{"stubs": 0}, {"transit_domains": 0}, {"density": 1.5}])
def test_impossible_parameters_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(OverlayError):
        TransitStub(**parameters)  # type: ignore[arg-type]


def test_a_network_without_servers_is_refused() -> None:
    with pytest.raises(OverlayError, match="at least 1 server"):
        attach(routers(TransitStub(transit_domains=1), random.Random(1)), 0, 0.001, random.Random(1))
