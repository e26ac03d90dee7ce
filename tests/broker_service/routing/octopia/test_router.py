"""OctopiA on overlays of broker cores, with static publication routing: tables, control messages, delivery."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import pytest

from broker_service.language import Advertisement, Subscription, content
from broker_service.language.content import encode_predicates
from broker_service.language.relations import intersects
from broker_service.messages import Kind, Message, Operation
from broker_service.routing.octopia import router, tables
from broker_service.routing.octopia.vector import encode_vector
from record.errors import BrokerDefectError
from record.log import Event
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.octopia.scot_overlays import (
    FIGURE_3_TREE,
    FIGURE_7_TREE,
    advertised,
    scot,
    sent,
    subscribed,
    with_clients,
)
from tests.broker_service.routing.stocks import above, between, quote


def test_an_advertisement_is_known_in_its_host_region_only() -> None:
    """Fig. 4: P1 at B(e, 1)."""
    overlay = scot(FIGURE_3_TREE, 3)
    overlay.attach("P1", "e1")
    overlay.advertise("P1", "a", above(0))
    overlay.settle()
    assert advertised(overlay) == {"e1.1.1": {"e0": "010", "e1": "010", "e2": "010"}}
    assert sorted(sent(overlay, "advertise")) == [("e1", "e0"), ("e1", "e2")]
    overlay.request("P1", Operation.UNADVERTISE, "a")
    overlay.settle()
    assert advertised(overlay) == {}
    assert len(sent(overlay, "unadvertise")) == 2


def test_a_subscription_is_known_in_its_host_cluster_only() -> None:
    """Fig. 5."""
    overlay = scot(FIGURE_3_TREE, 3)
    overlay.attach("S0", "b0")
    overlay.subscribe("S0", "s", above(0))
    overlay.settle()
    assert subscribed(overlay) == {"b0.1.1": {f"{region}0" for region in "abcdef"}}
    assert len(sent(overlay, "subscribe")) == 5
    overlay.request("S0", Operation.UNSUBSCRIBE, "s")
    overlay.settle()
    assert subscribed(overlay) == {}


@pytest.mark.parametrize("subscription_first", [True, False])
def test_the_first_subscription_in_a_cluster_sets_its_bit(subscription_first: bool) -> None:
    """Section 8: P2 at B(a, 2), with interested subscribers in cluster 0: the vector of the advertisement is 101."""
    overlay = scot(FIGURE_3_TREE, 3)
    overlay.attach("P2", "a2")
    overlay.attach("S0", "f0")
    if subscription_first:
        overlay.subscribe("S0", "s", above(10))
        overlay.settle()
    overlay.advertise("P2", "a", above(0))
    overlay.settle()
    if not subscription_first:
        assert advertised(overlay) == {"a2.1.1": {"a0": "100", "a1": "100", "a2": "100"}}
        overlay.subscribe("S0", "s", above(10))
        overlay.settle()
    assert advertised(overlay) == {"a2.1.1": {"a0": "101", "a1": "100", "a2": "101"}}
    assert sent(overlay, "control") == [("a0", "a2")]


def test_only_the_first_and_the_last_subscription_of_a_cluster_are_reported() -> None:
    overlay = scot(FIGURE_3_TREE, 3)
    overlay.attach("P", "a2")
    overlay.advertise("P", "a", above(0))
    overlay.settle()
    subscribers = [f"{region}0" for region in "abcdef"]
    for home in subscribers:
        overlay.attach(f"S-{home}", home)
        overlay.subscribe(f"S-{home}", "s", above(10))
        overlay.settle()
    assert sent(overlay, "control") == [("a0", "a2")]
    for home in subscribers[:-1]:
        overlay.request(f"S-{home}", Operation.UNSUBSCRIBE, "s")
        overlay.settle()
    assert sent(overlay, "control") == [("a0", "a2")]
    assert advertised(overlay)["a2.1.1"]["a2"] == "101"
    overlay.request("S-f0", Operation.UNSUBSCRIBE, "s")
    overlay.settle()
    assert sent(overlay, "control") == [("a0", "a2")] * 2
    assert set(advertised(overlay)["a2.1.1"].values()) == {"100"}


def test_one_message_serves_all_advertisements_of_a_host_broker() -> None:
    overlay = scot(FIGURE_7_TREE, 4)
    for client, broker in (("P", "b3"), ("Q", "b3"), ("R", "b2")):
        overlay.attach(client, broker)
        overlay.advertise(client, "low", between(0, 50))
        overlay.advertise(client, "high", between(40, 90))
    overlay.settle()
    overlay.attach("S", "a0")
    overlay.subscribe("S", "s", above(45))
    overlay.settle()
    assert sorted(sent(overlay, "control")) == [("b0", "b2"), ("b0", "b3")]
    assert all(civs["b0"][-1] == "1" for civs in advertised(overlay).values())
    assert all(civs[id[:2]][-1] == "1" for id, civs in advertised(overlay).items())
    overlay.request("S", Operation.UNSUBSCRIBE, "s")
    overlay.settle()
    assert len(sent(overlay, "control")) == 4
    assert not any(civ[-1] == "1" for civs in advertised(overlay).values() for civ in civs.values())


def test_an_advertisement_and_a_subscription_are_compared_once() -> None:
    """Also when all unsubscribe, those first that count for the advertisement."""
    compared: list[tuple[Advertisement, Subscription]] = []

    def counting(advertisement: Advertisement, subscription: Subscription) -> bool:
        compared.append((advertisement, subscription))
        return intersects(advertisement, subscription)

    with (
        mock.patch.object(router, "intersects", counting),
        mock.patch.object(tables, "intersects", counting),
        mock.patch.object(content, "decode_advertisement", lambda body: Advertisement(content.decode_predicates(body))),
    ):  # Each broker has an advertisement of its own, so that comparisons of two brokers are told apart.
        overlay = scot([], 2)
        overlay.attach("P", "a0")
        overlay.advertise("P", "a", between(0, 10))
        overlay.settle()
        overlay.attach("S", "a1")
        for number in range(30):
            low = 20 * (number % 3)
            overlay.subscribe("S", f"s{number}", between(low, low + 15 + number))
        for number in sorted(range(30), key=lambda number: number % 3):
            overlay.request("S", Operation.UNSUBSCRIBE, f"s{number}")
        overlay.settle()
    assert set(advertised(overlay)["a0.1.1"].values()) == {"01"}
    assert len({(id(left), id(right)) for left, right in compared}) == len(compared) > 20


@pytest.mark.parametrize("seed", range(20))
def test_a_bit_is_not_set_by_a_subscription_that_left_before_the_advertisement_came(seed: int) -> None:
    """CIV_SET and a later advertisement of the same host broker cross on the iLink."""
    overlay = scot(FIGURE_7_TREE, 4, seed=seed)
    overlay.attach("P", "b3")
    overlay.attach("S", "b0")
    overlay.advertise("P", "first", above(0))
    overlay.settle()
    overlay.subscribe("S", "s", above(10))
    overlay.request("S", Operation.UNSUBSCRIBE, "s")
    overlay.advertise("P", "second", above(0))
    overlay.settle()
    assert {civ for civs in advertised(overlay).values() for civ in civs.values()} == {"1000"}


def test_figure_8() -> None:
    """P0, P1 and P2 reach {S1, S2}, {S, S0, S1, S2} and {S2}, and no other client; no client is notified twice."""
    overlay = scot(FIGURE_3_TREE, 3)
    homes = {"P0": "a0", "P1": "e1", "P2": "a2", "S": "f0", "S0": "b0", "S1": "f1", "S2": "d2"}
    for client, broker in homes.items():
        overlay.attach(client, broker)
    overlay.advertise("P0", "a", between(0, 10))
    overlay.advertise("P1", "a", between(10, 20))
    overlay.advertise("P2", "a", between(20, 30))
    overlay.subscribe("S", "s", between(10, 20))
    overlay.subscribe("S0", "s", between(10, 20))
    overlay.subscribe("S1", "s", between(0, 20))
    overlay.subscribe("S2", "s", between(0, 30))
    overlay.settle()
    vectors = advertised(overlay)
    # Where the paper writes 110 for P0, it leaves out that CIV_a[i] is always set.
    assert [vectors["a0.1.1"]["a0"], vectors["e1.1.1"]["e1"], vectors["a2.1.1"]["a2"]] == ["111", "111", "100"]
    for publisher, price in (("P0", 5), ("P1", 15), ("P2", 25)):
        overlay.publish(publisher, f"{publisher}:1", quote(price))
    overlay.settle()
    assert overlay.notified == {
        "S": ["P1:1"],
        "S0": ["P1:1"],
        "S1": ["P0:1", "P1:1"] if overlay.notified["S1"][0] == "P0:1" else ["P1:1", "P0:1"],
        "S2": overlay.notified["S2"],
    }
    assert sorted(overlay.notified["S2"]) == ["P0:1", "P1:1", "P2:1"]
    received = Counter(overlay.received_publications())
    assert set(received.values()) == {1}
    assert {broker[1] for broker, id in received if id == "P2:1"} == {"2"}
    assert {broker[1] for broker, id in received if id == "P0:1"} == {"1", "2"}


@pytest.mark.parametrize(("protocol", "times"), [("octopia", 2), ("tid", 1)])
def test_a_client_that_moves_ahead_of_a_publication_is_notified_again(protocol: str, times: int) -> None:
    """docs/guarantees.md, "A client that moves"; with TID routing the first broker has settled who gets it."""
    places = {name: {"region": name[0], "cluster": 0} for name in ("a0", "b0", "c0")}
    overlay = CoreOverlay([("a0", "b0"), ("b0", "c0")], protocol=protocol, attributes=places)
    with_clients(overlay, "a0", {"S": "b0", "T": "c0"})
    overlay.held.add(("b0", "c0"))
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified == {"S": ["P:1"]}
    overlay.request("S", Operation.DETACH)
    overlay.attach("S", "c0")
    overlay.subscribe("S", "s", above(0))
    overlay.held.clear()
    overlay.settle()
    assert overlay.notified == {"S": ["P:1"] * times, "T": ["P:1"]}


@pytest.mark.parametrize(
    ("neighbour", "kind", "because"),
    [("a1", Kind.SUBSCRIBE, "a1 is in another cluster"), ("b0", Kind.ADVERTISE, "b0 is in another region")],
)
def test_what_a_neighbour_has_no_business_to_say_is_dropped(neighbour: str, kind: Kind, because: str) -> None:
    overlay = scot(FIGURE_3_TREE, 3)
    forged = Message(kind, f"{neighbour}.1.1", encode_predicates(tuple(above(0))), encode_vector(1), hops=1)
    overlay.brokers["a0"].neighbours.receive(neighbour, [forged])
    assert subscribed(overlay) == advertised(overlay) == {}
    assert [record.text for record in overlay.records(Event.DROPPED)] == [f"malformed: {because}"]


def test_static_routing_adds_nothing_to_publications() -> None:
    overlay = scot(FIGURE_7_TREE, 4)
    overlay.attach("P", "b3")
    overlay.attach("S", "a0")
    overlay.advertise("P", "a", above(0))
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified == {"S": ["P:1"]}
    sizes = {record.bytes for record in overlay.records(Event.RECEIVED) if record.kind == "publish"}
    assert len(sizes) == 1


def test_an_overlay_that_is_no_scot_is_refused_in_words() -> None:
    with pytest.raises(BrokerDefectError, match="broker A has no region; use a topology of kind scot"):
        CoreOverlay([("A", "B")], protocol="octopia")
    odd: dict[str, dict[str, Any]] = {"A": {"region": "a", "cluster": 0}, "B": {"region": "b", "cluster": 1}}
    with pytest.raises(BrokerDefectError, match=r"the link A - B joins \(a, 0\) and \(b, 1\)"):
        CoreOverlay([("A", "B")], protocol="octopia", attributes=odd)
    odd["B"]["cluster"] = "one"
    with pytest.raises(BrokerDefectError, match="the cluster of broker B is 'one'"):
        CoreOverlay([("A", "B")], protocol="octopia", attributes=odd)
    odd["B"] = {"region": "a", "cluster": 1 << 40}
    with pytest.raises(BrokerDefectError, match="at most 32768"):
        CoreOverlay([("A", "B")], protocol="octopia", attributes=odd)
    odd |= {"B": {"region": "a", "cluster": 1}, "C": {"region": "a", "cluster": 1}}
    with pytest.raises(BrokerDefectError, match=r"B and C are both \(a, 1\)"):
        CoreOverlay([("A", "B"), ("A", "C")], protocol="octopia", attributes=odd)
