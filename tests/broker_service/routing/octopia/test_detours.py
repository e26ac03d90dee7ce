"""Variants beyond the paper: links outside the tree, detours within a cluster, detours round failed brokers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.messages import Kind, Message
from broker_service.routing import read_options
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.octopia.messages import Detour
from record.log import Event
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.octopia.scot_overlays import (
    FIGURE_3_TREE,
    FIGURE_7_TREE,
    congest,
    scot,
    sent,
    trees,
    with_clients,
)
from tests.broker_service.routing.stocks import above, quote

DYNAMIC = {"publications": "inter-cluster-dynamic"}
EXTENSIONS = ("intra_cluster_dynamic", "off_tree_links", "round_dead_brokers")


def one_publisher(
    tree: tuple[str, ...], clusters: int, publisher: str, subscribers: Mapping[str, str], *extensions: str
) -> CoreOverlay:
    overlay = scot(tree, clusters, {**DYNAMIC, **dict.fromkeys(extensions, True)})
    return with_clients(overlay, publisher, subscribers)


def ways_of_one(overlay: CoreOverlay) -> list[tuple[str, str]]:
    """Publishes once, with held links held. All subscribers must get it before those carry again."""
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified == {client: ["P:1"] for client in overlay.sessions if client != "P"}
    overlay.held.clear()
    overlay.settle()
    assert overlay.notified == {client: ["P:1"] for client in overlay.sessions if client != "P"}
    return sorted(sent(overlay, "publish"))


def test_a_link_outside_the_subscription_tree_serves_before_all_is_lost() -> None:
    """Fig. 7(d): l((b, 3), (a, 3)) is not congested, and "cannot be used" in the paper."""
    overlay = one_publisher(FIGURE_7_TREE, 4, "b3", {"S1": "a0", "S2": "c1", "S3": "a2"}, "off_tree_links")
    for receiver in ("b0", "b1", "b2", "c3"):
        congest(overlay, "b3", receiver)
    ways = ways_of_one(overlay)
    assert ways == [("a1", "b1"), ("a3", "a0"), ("a3", "a1"), ("a3", "a2"), ("b1", "c1"), ("b3", "a3")]


def test_an_overloaded_a_link_is_gone_round_by_another_cluster() -> None:
    """The brokers on the detour neither match the publication nor pass it on to their own subscribers."""
    overlay = one_publisher(FIGURE_3_TREE, 3, "b0", {"S": "d0"}, "intra_cluster_dynamic")
    congest(overlay, "b0", "c0")
    congest(overlay, "b0", "b1")
    assert ways_of_one(overlay) == [("b0", "b2"), ("b2", "c2"), ("c0", "d0"), ("c2", "c0")]
    assert {record.node for record in overlay.records(Event.MATCHED)} == {"b0", "c0", "d0"}


def test_an_overloaded_a_link_is_taken_where_the_i_links_are_no_better() -> None:
    overlay = one_publisher(FIGURE_3_TREE, 2, "b0", {"S": "d0"}, "intra_cluster_dynamic")
    congest(overlay, "b0", "c0")
    congest(overlay, "b0", "b1")
    overlay.held.clear()
    assert ways_of_one(overlay) == [("b0", "c0"), ("c0", "d0")]


def test_a_dead_broker_of_another_cluster_is_gone_round_by_a_parallel_i_link() -> None:
    """B(b, 1) is dead. Cluster 1 is entered at B(a, 1); the part behind the dead broker, B(c, 1), by a detour."""
    overlay = one_publisher(FIGURE_7_TREE, 4, "b3", {"S1": "a1", "S2": "c1"}, "round_dead_brokers")
    overlay.kill("b1")
    overlay.settle()
    ways = ways_of_one(overlay)
    assert ways[:2] == [("a0", "b0"), ("a1", "a0")]
    assert set(ways) == {("b3", "a3"), ("a3", "a1"), ("a1", "a0"), ("a0", "b0"), ("b0", "c0"), ("c0", "c1")}


def test_without_the_variant_a_publication_waits_for_the_dead_broker() -> None:
    overlay = one_publisher(FIGURE_7_TREE, 4, "b3", {"S1": "a1"})
    overlay.kill("b1")
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified == {} and overlay.brokers["b3"].links["b1"].queue_length == 1


def test_a_broken_link_to_a_living_broker_is_gone_round() -> None:
    """An iLink, then an aLink: the broker behind it still gets the publication."""
    overlay = one_publisher(FIGURE_7_TREE, 4, "b3", {"S1": "b1", "S2": "c1"}, "round_dead_brokers")
    overlay.cut("b3", "b1")
    overlay.cut("b1", "c1")
    ways_of_one(overlay)


def test_where_the_parallel_link_is_down_too_the_next_cluster_is_tried() -> None:
    overlay = one_publisher(FIGURE_7_TREE, 4, "a3", {"S": "c3"}, "round_dead_brokers")
    overlay.cut("a3", "b3")
    overlay.cut("a0", "b0")
    assert ways_of_one(overlay) == [("a0", "a1"), ("a1", "b1"), ("a3", "a0"), ("b1", "b3"), ("b3", "c3")]


def test_a_publication_comes_back_from_a_dead_end() -> None:
    """Cluster 0 is left to the edge broker B(a, 1), where S wants the publication, next to the dead B(a, 0)."""
    overlay = one_publisher(FIGURE_7_TREE, 2, "b1", {"S": "a1", "S0": "c0"}, "round_dead_brokers")
    overlay.kill("a0")
    congest(overlay, "b1", "b0")
    overlay.held.clear()
    assert ways_of_one(overlay) == [("a1", "b1"), ("b0", "c0"), ("b1", "a1"), ("b1", "b0")]


def test_where_no_way_is_left_a_publication_waits() -> None:
    overlay = one_publisher(FIGURE_7_TREE, 2, "a1", {"S": "c1"}, "round_dead_brokers")
    overlay.cut("a1", "b1")
    overlay.cut("a0", "b0")
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified == {}
    overlay.join("a0", "b0")
    overlay.settle()
    assert overlay.notified == {"S": ["P:1"]}
    assert overlay.records(Event.DROPPED) == []


def test_a_broker_that_was_only_cut_off_gets_what_went_round_it() -> None:
    """B(b, 1) is taken for dead. What waits for it is for its own clients, the others having got it."""
    overlay = one_publisher(FIGURE_7_TREE, 2, "a1", {"S": "b1", "S1": "c1"}, "round_dead_brokers")
    for neighbour in ("a1", "b0", "c1"):
        overlay.cut(neighbour, "b1")
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified == {"S1": ["P:1"]}
    for neighbour in ("a1", "b0", "c1"):
        overlay.join(neighbour, "b1")
    overlay.settle()
    assert overlay.notified == {"S": ["P:1"], "S1": ["P:1"]}


@settings(max_examples=60, deadline=None)
@given(
    tree=trees(),
    clusters=st.integers(1, 4),
    seed=st.integers(0, 2**32),
    share=st.floats(0, 1),
    extensions=st.sets(st.sampled_from(EXTENSIONS)),
)
def test_links_that_come_back_have_lost_nothing(
    tree: list[str], clusters: int, seed: int, share: float, extensions: set[str]
) -> None:
    """Whichever are cut, and with any of the variants: everybody gets everything once."""
    rng = random.Random(seed)
    overlay = scot(tree, clusters, {**DYNAMIC, **dict.fromkeys(extensions, True)}, seed)
    overlay.attach("P", rng.choice(overlay.names))
    overlay.advertise("P", "a", above(0))
    for number in range(rng.randrange(6)):
        overlay.attach(f"S{number}", rng.choice(overlay.names))
        overlay.subscribe(f"S{number}", "s", above(0))
    overlay.settle()
    for a, b in overlay.links:
        if rng.random() < share:
            overlay.cut(a, b)
    for number in range(15):
        overlay.publish("P", f"P:{number}", quote(5))
        for _ in range(rng.randrange(30)):
            overlay.step()
        if overlay.cuts and rng.random() < 0.2:
            overlay.join(*sorted(rng.choice(overlay.cuts)))
    for cut in list(overlay.cuts):
        overlay.join(*sorted(cut))
    overlay.settle()
    subscribers = [client for client in overlay.sessions if client != "P"]
    assert {client: sorted(overlay.notified[client]) for client in subscribers} == {
        client: sorted(f"P:{number}" for number in range(15)) for client in subscribers
    }
    assert overlay.records(Event.DROPPED) == []


@settings(max_examples=40, deadline=None)
@given(
    tree=trees(),
    clusters=st.integers(2, 4),
    seed=st.integers(0, 2**32),
    share=st.floats(0, 0.7),
    extensions=st.sets(st.sampled_from(EXTENSIONS[:2])),
)
def test_one_dead_broker_keeps_nobody_else_from_anything(
    tree: list[str], clusters: int, seed: int, share: float, extensions: set[str]
) -> None:
    """Whichever it is, whatever is congested, and with any of the other variants."""
    rng = random.Random(seed)
    options = {**DYNAMIC, "round_dead_brokers": True, **dict.fromkeys(extensions, True)}
    overlay = scot(tree, clusters, options, seed)
    overlay.attach("P", rng.choice(overlay.names))
    overlay.advertise("P", "a", above(0))
    for number in range(rng.randrange(6)):
        overlay.attach(f"S{number}", rng.choice(overlay.names))
        overlay.subscribe(f"S{number}", "s", above(0))
    overlay.settle()
    dead = rng.choice([name for name in overlay.names if name != overlay.sessions["P"][0]])
    overlay.kill(dead)
    alone = {client for client, (home, _) in overlay.sessions.items() if tree == [] and home[1] == dead[1]}
    assert not alone, "in a SCOT of one region, nobody else is in the dead broker's cluster"
    for a, b in overlay.links:
        for sender, receiver in ((a, b), (b, a)):
            if rng.random() < share and sender != dead:
                congest(overlay, sender, receiver, rng.randrange(5, 30))
    for number in range(3):
        overlay.publish("P", f"P:{number}", quote(10 * number + 5))
    for _ in range(200):
        overlay.step()
    overlay.held.clear()
    overlay.settle()
    subscribers = [client for client in overlay.sessions if client != "P"]
    assert {client: sorted(overlay.notified[client]) for client in subscribers} == {
        client: ["P:0", "P:1", "P:2"] for client in subscribers
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"publications": "static", "off_tree_links": True},
            "off_tree_links needs publications: inter-cluster-dynamic",
        ),
        ({"congestion_threshold": -1}, "congestion_threshold must be at least 0"),
        ({"status_interval": 0}, "status_interval must be more than 0 seconds"),
        ({"publications": "dynamic"}, "publications"),
        ({"speed": 1}, "speed"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_options("octopia", options)


@pytest.mark.parametrize(
    "detour",
    [Detour(1, "c", "d", True), Detour(1, "c", "a", True), Detour(0, "x", "a", True), Detour(1, "b", "x", True)],
)
def test_detours_that_cannot_be_are_dropped(detour: Detour) -> None:
    overlay = scot(FIGURE_3_TREE, 3, DYNAMIC)
    overlay.brokers["a0"].neighbours.receive("a1", [Message(Kind.PUBLISH, "P:1", b"", encode_header(detour), 1)])
    (dropped,) = overlay.records(Event.DROPPED)
    assert (dropped.text or "").startswith("malformed")
