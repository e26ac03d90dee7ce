"""Inter-cluster dynamic routing: the cases of the paper, and what holds whatever is congested."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.routing.octopia.dynamic import InterClusterDynamicRouting
from broker_service.routing.octopia.forwarding import Copy, ForwardingDecision, Onward
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.octopia.scot_overlays import (
    FIGURE_7_TREE,
    congest,
    scot,
    sent,
    trees,
    with_clients,
)
from tests.broker_service.routing.stocks import above, quote

STATIC = {"publications": "static"}
DYNAMIC = {"publications": "inter-cluster-dynamic"}


class Loads:
    """Links that are overloaded above a load of 10."""

    def __init__(self, loads: Mapping[str, float]) -> None:
        self._loads = loads

    def is_overloaded(self, neighbour: str) -> bool:
        return self.load(neighbour) > 10

    def load(self, neighbour: str) -> float:
        return self._loads.get(neighbour, 0)


def route(onward: Onward, **loads: float) -> ForwardingDecision:
    """At B(b, 3) of Fig. 7."""
    return InterClusterDynamicRouting({0: "b0", 1: "b1", 2: "b2"}, Loads(loads)).route(onward)


def test_nothing_congested_is_static_routing() -> None:
    made = route(Onward(("a3", "c3"), 0b0111, None), b0=10, c3=10)
    assert made == ForwardingDecision([Copy("a3"), Copy("c3"), Copy("b0"), Copy("b1"), Copy("b2")])


def test_overloaded_a_links_get_their_copy_all_the_same() -> None:
    assert route(Onward(("a3", "c3"), 0, None), c3=50) == ForwardingDecision([Copy("a3"), Copy("c3")])


def test_case_1_leaves_overloaded_i_links_to_the_least_loaded_target_i_link() -> None:
    made = route(Onward(("c3",), 0b0111, None), b0=50, b1=3, b2=4)
    assert made == ForwardingDecision([Copy("c3"), Copy("b1", 0b0001), Copy("b2")])


def test_case_2_leaves_them_to_the_least_loaded_target_a_link() -> None:
    """The idle iLink leads to cluster 1, which is not a target cluster, so it is not used."""
    made = route(Onward(("a3", "c3"), 0b0101, None), b0=50, b2=40, a3=2, c3=1)
    assert made == ForwardingDecision([Copy("a3"), Copy("c3", 0b0101)])


def test_case_2_takes_a_link_that_is_not_overloaded_whatever_its_queue() -> None:
    """The link with the shorter queue can be the overloaded one by Eq. 3."""

    class Growing(Loads):
        def is_overloaded(self, neighbour: str) -> bool:
            return neighbour != "c3"

    routing = InterClusterDynamicRouting({0: "b0"}, Growing({"b0": 3, "a3": 1, "c3": 2}))
    assert routing.route(Onward(("a3", "c3"), 1, None)) == ForwardingDecision([Copy("a3"), Copy("c3", 1)])


def test_case_3_takes_the_target_i_link_with_the_shortest_queue_and_clears_its_bit() -> None:
    """The aLink has a shorter queue still, and is not taken: mu2, not mu1."""
    made = route(Onward(("c3",), 0b0111, None), b0=50, b1=40, b2=30, c3=11)
    assert made == ForwardingDecision([Copy("c3"), Copy("b2", 0b0011)])


def test_case_3_without_a_primary_neighbour() -> None:
    assert route(Onward((), 0b0001, "c3"), b0=50) == ForwardingDecision([Copy("b0")])


def test_a_cluster_without_an_i_link_is_left_to_others_and_given_up_where_there_are_none() -> None:
    routing = InterClusterDynamicRouting({0: "b0"}, Loads({"a3": 50}))
    assert routing.route(Onward(("a3",), 0b100, None)) == ForwardingDecision([Copy("a3", 0b100)])
    assert routing.route(Onward((), 0b101, None)) == ForwardingDecision([Copy("b0", 0b100)])
    assert routing.route(Onward((), 0b100, None)) == ForwardingDecision([], 0b100)


def figure_7(subscribers: Mapping[str, str], options: Mapping[str, str] = DYNAMIC) -> CoreOverlay:
    """P at B(b, 3) will publish; the figure's own subscribers differ from one part to the next."""
    return with_clients(scot(FIGURE_7_TREE, 4, options), "b3", subscribers)


def ways_of_one(overlay: CoreOverlay) -> list[tuple[str, str]]:
    """Publishes once; held links carry again when all else is done. All subscribers must have got it."""
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    overlay.held.clear()
    overlay.settle()
    assert overlay.notified == {client: ["P:1"] for client in overlay.sessions if client != "P"}
    return sorted(sent(overlay, "publish"))


def test_figure_7_b() -> None:
    """Case I at B(b, 3), Case II at B(b, 1); one message less than static routing."""
    subscribers = {"S1": "c0", "S2": "c1", "S3": "b2", "S4": "c3"}
    overlay = figure_7(subscribers)
    congest(overlay, "b3", "b0")
    congest(overlay, "b1", "b0")
    congest(overlay, "b3", "b2", messages=5)  # not overloaded, but a longer queue than that to B(b, 1)
    ways = ways_of_one(overlay)
    assert ways == [("b1", "c1"), ("b3", "b1"), ("b3", "b2"), ("b3", "c3"), ("c1", "c0")]
    assert len(ways_of_one(figure_7(subscribers, STATIC))) == len(ways) + 1


def test_figure_7_c() -> None:
    """Case II at B(b, 3); B(c, 3) reaches both clusters by iLinks of its own."""
    overlay = figure_7({"S1": "c0", "S2": "b2", "S5": "c3"})
    congest(overlay, "b3", "b0")
    congest(overlay, "b3", "b2")
    assert ways_of_one(overlay) == [("b3", "c3"), ("c2", "b2"), ("c3", "c0"), ("c3", "c2")]


def test_figure_7_d() -> None:
    """Case III at B(b, 3), Case I at B(b, 2), Case II at B(b, 0), Case III at B(a, 0): 8 messages, static routing 7."""
    subscribers = {"S1": "a0", "S2": "c1", "S3": "a2", "S4": "c3"}
    overlay = figure_7(subscribers)
    for sender, receiver in ("b3", "b0"), ("b3", "b1"), ("b3", "c3"), ("b2", "b1"), ("b0", "b1"), ("a0", "a1"):
        congest(overlay, sender, receiver)
    congest(overlay, "b3", "b2", messages=15)
    overlay.held -= {("b3", "b2"), ("a0", "a1"), ("b3", "c3")}  # their queues are long, and shrink
    ways = ways_of_one(overlay)
    in_other_clusters = [("a0", "a1"), ("a1", "b1"), ("b0", "a0"), ("b1", "c1"), ("b2", "a2"), ("b2", "b0")]
    assert ways == [*in_other_clusters, ("b3", "b2"), ("b3", "c3")]
    assert len(ways_of_one(figure_7(subscribers, STATIC))) == 7


@settings(max_examples=40, deadline=None)
@given(tree=trees(), clusters=st.integers(1, 4), seed=st.integers(0, 2**32), share=st.floats(0, 1))
@pytest.mark.parametrize("options", [STATIC, DYNAMIC])
def test_everybody_gets_a_publication_once_whatever_is_congested(
    options: Mapping[str, str], tree: list[str], clusters: int, seed: int, share: float
) -> None:
    """Against a list of who wants it. No broker receives it twice, and none outside the target clusters (those with a
    subscription that intersects the advertisement) and the publisher's own."""
    rng = random.Random(seed)
    overlay = scot(tree, clusters, options, seed)
    overlay.attach("P", rng.choice(overlay.names))
    overlay.advertise("P", "a", above(0))
    floors = {f"S{number}": rng.randrange(40) for number in range(rng.randrange(6))}
    homes = {client: rng.choice(overlay.names) for client in floors}
    for client, floor in floors.items():
        overlay.attach(client, homes[client])
        overlay.subscribe(client, "s", above(floor))
    overlay.settle()
    for a, b in overlay.links:
        for sender, receiver in ((a, b), (b, a)):
            if rng.random() < share:
                congest(overlay, sender, receiver, rng.randrange(5, 30))
    for number in range(4):
        overlay.publish("P", f"P:{number}", quote(10 * number + 5))
    for _ in range(200):
        overlay.step()
    overlay.held.clear()
    overlay.settle()
    wanted = {
        client: [f"P:{number}" for number in range(4) if 10 * number + 5 > floor] for client, floor in floors.items()
    }
    assert {client: sorted(overlay.notified[client]) for client in floors} == wanted
    received = overlay.received_publications()
    assert len(received) == len(set(received))
    host = overlay.sessions["P"][0]
    assert {broker[1] for broker, _ in received} <= {host[1], *(home[1] for home in homes.values())}
