"""TID routing on overlays of broker cores: exactly-once delivery, the paper's properties, withdrawal and restarts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.messages import Kind, Message, Operation
from record.log import Event
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.stocks import above, between, quote
from tests.broker_service.routing.tid.tid_overlays import EMPTY, advertise_over

PAPER_CYCLE = [("B1", "B2"), ("B2", "B4"), ("B4", "B3"), ("B3", "B1"), ("B3", "B5")]
MODES = pytest.mark.parametrize("mode", ["fixed", "dynamic"])


def overlay_of(graph: nx.Graph, mode: str, seed: int) -> CoreOverlay:
    names = {node: f"B{node + 1}" for node in graph.nodes}
    links = [(names[a], names[b]) for a, b in graph.edges]
    return CoreOverlay(links, names.values(), {"publications": mode}, seed)


@st.composite
def overlays(draw: st.DrawFn) -> tuple[nx.Graph, int]:
    """A connected graph of up to 9 brokers and a seed for everything else."""
    count = draw(st.integers(1, 9))
    seed = draw(st.integers(0, 2**32))
    rng = random.Random(seed)
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((node, rng.randrange(node)) for node in range(1, count))
    for _ in range(draw(st.integers(0, 10))):
        a, b = rng.randrange(count), rng.randrange(count)
        if a != b:
            graph.add_edge(a, b)
    return graph, seed


@MODES
def test_a_publication_reaches_the_matching_subscriber_only(mode: str) -> None:
    overlay = CoreOverlay(PAPER_CYCLE, options={"publications": mode})
    for client, broker in (("P", "B1"), ("S1", "B5"), ("S2", "B4"), ("S3", "B1")):
        overlay.attach(client, broker)
    overlay.advertise("P", "a1", above(0))
    overlay.settle()
    overlay.subscribe("S1", "s1", above(80))
    overlay.subscribe("S2", "s1", above(200))
    overlay.subscribe("S3", "s1", above(99))
    overlay.settle()
    overlay.publish("P", "P:1", quote(100))
    overlay.settle()
    assert overlay.notified == {"S1": ["P:1"], "S3": ["P:1"]}


@MODES
@settings(max_examples=60, deadline=None)
@given(case=overlays())
def test_quiet_overlay_delivers_exactly_once_and_matches_once(mode: str, case: tuple[nx.Graph, int]) -> None:
    graph, seed = case
    rng = random.Random(seed)
    overlay = overlay_of(graph, mode, seed)
    population = _populate(overlay, rng)
    overlay.settle()
    _publish_and_check(overlay, population, rng, 12)
    matched = Counter(record.id for record in overlay.records(Event.MATCHED))
    assert set(matched.values()) <= {1}
    if mode == "fixed":
        copies = Counter(overlay.received_publications())
        assert set(copies.values()) <= {1}, "Property 1: no broker receives a publication twice"


def _publish_and_check(overlay: CoreOverlay, population: Population, rng: random.Random, count: int) -> None:
    """Publishes with the overlay busy, and compares what every subscriber got with what it should."""
    expected: dict[str, list[str]] = {client: [] for client in population.floors}
    for number in range(count):
        publisher = rng.choice(list(population.ranges))
        price = population.price(publisher, rng)
        overlay.publish(publisher, f"{publisher}:{number}", quote(price))
        for client in population.interested(price):
            expected[client].append(f"{publisher}:{number}")
        _run_a_little(overlay, rng)
    overlay.settle()
    assert {client: sorted(overlay.notified[client]) for client in expected} == {
        client: sorted(ids) for client, ids in expected.items()
    }


@dataclass
class Population:
    """Clients of an overlay: what price range each publisher advertises, above what prices each subscriber listens."""

    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    floors: dict[str, list[int]] = field(default_factory=dict)

    @property
    def clients(self) -> list[str]:
        return [*self.ranges, *self.floors]

    def price(self, publisher: str, rng: random.Random) -> int:
        low, high = self.ranges[publisher]
        return rng.randrange(low + 1, high)

    def interested(self, price: float) -> list[str]:
        return [client for client, floors in self.floors.items() if price > min(floors)]


def _populate(overlay: CoreOverlay, rng: random.Random) -> Population:
    """Attaches publishers and subscribers, in any interleaving, one publisher at the end."""
    population = Population()
    for number in range(rng.randrange(1, 4)):
        _add_publisher(overlay, population, f"P{number}", rng)
    for number in range(rng.randrange(1, 6)):
        client = f"S{number}"
        overlay.attach(client, rng.choice(overlay.names))
        population.floors[client] = [rng.randrange(0, 100) for _ in range(rng.randrange(1, 4))]
        _say(overlay, population, client)
        _run_a_little(overlay, rng)
    _add_publisher(overlay, population, "P-late", rng)
    return population


def _add_publisher(overlay: CoreOverlay, population: Population, publisher: str, rng: random.Random) -> None:
    low = rng.randrange(0, 80)
    population.ranges[publisher] = (low, rng.randrange(low + 5, 100))
    overlay.attach(publisher, rng.choice(overlay.names))
    _say(overlay, population, publisher)
    _run_a_little(overlay, rng)


def _say(overlay: CoreOverlay, population: Population, client: str) -> None:
    """Lets a client issue all it has."""
    if client in population.ranges:
        overlay.advertise(client, "a", between(*population.ranges[client]))
    for index, floor in enumerate(population.floors.get(client, [])):
        overlay.subscribe(client, f"s{index}", above(floor))


def _run_a_little(overlay: CoreOverlay, rng: random.Random) -> None:
    for _ in range(rng.randrange(6)):
        overlay.step()


@MODES
@settings(max_examples=60, deadline=None)
@given(case=overlays())
def test_tables_are_empty_after_everything_is_withdrawn(mode: str, case: tuple[nx.Graph, int]) -> None:
    graph, seed = case
    rng = random.Random(seed)
    overlay = overlay_of(graph, mode, seed)
    population = _populate(overlay, rng)
    _run_a_little(overlay, rng)
    withdrawals = [overlay.sessions[client] for client in population.clients]
    rng.shuffle(withdrawals)
    for broker, session in withdrawals:
        overlay.brokers[broker].sessions.close(session)
        _run_a_little(overlay, rng)
    overlay.settle()
    for emptied in overlay.brokers.values():
        router: Any = emptied._router
        assert emptied.tables() == {"subscription_routing_table": {}, "publication_routing_table": {}}
        assert not len(router._matching)


@settings(max_examples=60, deadline=None)
@given(case=overlays(), data=st.data())
def test_dynamic_routing_delivers_once_whatever_the_links_load(case: tuple[nx.Graph, int], data: st.DataObject) -> None:
    """Property 2, with queues that are as good as random: links are held up while publications are routed."""
    graph, seed = case
    rng = random.Random(seed)
    overlay = overlay_of(graph, "dynamic", seed)
    population = _populate(overlay, rng)
    overlay.settle()
    _publish_and_check(overlay, population, rng, data.draw(st.integers(1, 40)))


def _two_trees(seed: int, load: str) -> CoreOverlay:
    """A cycle of four with two publishers at B1, a subscriber opposite."""
    overlay = CoreOverlay(
        [("B1", "B2"), ("B2", "B4"), ("B1", "B3"), ("B3", "B4")],
        options={"publications": "dynamic", "load": load},
        seed=seed,
    )
    overlay.attach("P1", "B1")
    overlay.attach("P2", "B1")
    overlay.attach("S", "B4")
    for publisher in ("P1", "P2"):
        overlay.advertise(publisher, "a", above(0))
        overlay.settle()
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    return overlay


def _ways(overlay: CoreOverlay) -> set[str]:
    (entry,) = overlay.brokers["B1"].tables()["publication_routing_table"].values()  # type: ignore[attr-defined]
    return {last_hop for _tid, last_hop in entry}


@pytest.mark.parametrize(("load", "least"), [("utilisation", 20), ("congestion", 16)])
def test_dynamic_routing_leaves_a_congested_link(load: str, least: int) -> None:
    """Both links are loaded alike by utilisation; by Eq. 3 the second is taken for what exceeds tau, here 10."""
    overlays = (_two_trees(seed, load) for seed in range(50))
    overlay = next(overlay for overlay in overlays if _ways(overlay) == {"B2", "B3"})
    for number in range(50):
        overlay.publish("P1", f"P1:{number}", quote(5))
    queues = {neighbour: link.queue_length for neighbour, link in overlay.brokers["B1"].links.items()}
    assert min(queues.values()) >= least
    overlay.settle()
    assert len(overlay.notified["S"]) == 50


def test_client_with_several_matching_subscriptions_is_notified_once() -> None:
    overlay = CoreOverlay(PAPER_CYCLE, options={"publications": "dynamic"})
    overlay.attach("P", "B1")
    overlay.attach("S", "B5")
    overlay.advertise("P", "a", above(0))
    overlay.settle()
    for number in range(5):
        overlay.subscribe("S", f"s{number}", above(number))
    overlay.settle()
    overlay.publish("P", "P:1", quote(50))
    overlay.settle()
    assert overlay.notified["S"] == ["P:1"]


def test_a_subscription_that_stands_does_not_share_the_fate_of_one_withdrawn_on_the_way() -> None:
    """Only the first of a client's two subscriptions is bound to the tree over B3, whose link is less loaded."""
    overlay = CoreOverlay([("B1", "B2"), ("B2", "B4"), ("B1", "B3"), ("B3", "B4")], options={"publications": "dynamic"})
    for client, broker in (("P", "B1"), ("Q", "B1"), ("S", "B4")):
        overlay.attach(client, broker)
    advertise_over(overlay, "P", "B2", between(0, 10))
    advertise_over(overlay, "Q", "B3", between(20, 30))
    overlay.subscribe("S", "wide", between(0, 30))
    overlay.subscribe("S", "narrow", between(0, 10))
    overlay.settle()
    for number in range(20):
        overlay.publish("P", f"P:{number}", quote(5))
    overlay.request("S", Operation.UNSUBSCRIBE, "wide")
    for sender, receiver in (("B4", "B2"), ("B4", "B3")):  # overtakes them all
        overlay.brokers[receiver].neighbours.receive(sender, overlay.brokers[sender].links[receiver].take())
    overlay.settle()
    assert sorted(overlay.notified["S"]) == sorted(f"P:{number}" for number in range(20))


@MODES
@settings(max_examples=40, deadline=None)
@given(case=overlays())
def test_a_restarted_broker_is_taught_again(mode: str, case: tuple[nx.Graph, int]) -> None:
    graph, seed = case
    rng = random.Random(seed)
    overlay = overlay_of(graph, mode, seed)
    population = _populate(overlay, rng)
    overlay.settle()
    victim = rng.choice(overlay.names)
    homes = {client: broker for client, (broker, _session) in overlay.sessions.items()}
    overlay.kill(victim)
    _run_a_little(overlay, rng)
    if rng.random() < 0.5:
        overlay.settle()
    overlay.restart(victim)
    _run_a_little(overlay, rng)
    for client, broker in homes.items():
        if broker == victim:
            overlay.attach(client, broker)
            _say(overlay, population, client)
    overlay.settle()
    overlay.fire_timers()
    overlay.settle()
    overlay.notified.clear()
    _publish_and_check(overlay, population, rng, 12)
    for client in population.clients:
        broker, session = overlay.sessions[client]
        overlay.brokers[broker].sessions.close(session)
    overlay.settle()
    for core in overlay.brokers.values():
        assert core.tables() == EMPTY


def test_a_malformed_header_is_dropped_and_counted() -> None:
    overlay = CoreOverlay([("B1", "B2")])
    for kind in Kind:
        overlay.brokers["B1"].neighbours.receive("B2", [Message(kind, "x", b"\xff", b"\xff\x00garbage", 1)])
    assert overlay.brokers["B1"].dropped >= 4


def test_tables_of_many_brokers_share_advertisements_and_the_names_in_them() -> None:
    """The tables of a thousand brokers hold a million rows."""
    overlay = CoreOverlay([("B1", "B2"), ("B2", "B3"), ("B3", "B4")])
    overlay.attach("P", "B1")
    overlay.attach("S", "B4")
    overlay.advertise("P", "a", above(0))
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    (row,), (next_row,) = (overlay.brokers[name]._router._advertisements for name in ("B3", "B4"))  # type: ignore[attr-defined]
    assert row.advertisement is next_row.advertisement
    assert all(one is other for one, other in zip(row.path, next_row.path, strict=False))
    (bound,), (next_bound,) = (overlay.brokers[name]._router._subscriptions for name in ("B2", "B3"))  # type: ignore[attr-defined]
    assert all(one is other for one, other in zip(bound.tids, next_bound.tids, strict=True))
