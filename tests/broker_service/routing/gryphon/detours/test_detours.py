"""Detours around links that are down: messages arrive, in order, and everything settles while the cut lasts."""

from __future__ import annotations

from itertools import combinations

import pytest

from broker_service.routing.gryphon.overlay import RoutingTree
from tests.broker_service.routing.gryphon.router_overlay import LINES, RouterOverlay

FORK = RoutingTree((("c",), ("a",), ("b1", "b2")), ((0, 1), (1, 2)))
CLIENTS = {f"S{broker}": broker for broker in LINES.brokers}
LEAF = LINES.leaves


def with_clients(overlay: RouterOverlay) -> RouterOverlay:
    for client, broker in CLIENTS.items():
        if broker in overlay.brokers:
            overlay.subscribe(client, broker)
    overlay.settle()
    return overlay


def publish_everywhere(overlay: RouterOverlay, seed: int) -> list[str]:
    ids = [overlay.publish(broker) for broker in overlay.tree.brokers for _ in range(2)]
    overlay.settle()
    return ids


@pytest.mark.proof
@pytest.mark.parametrize("paths", ["hash", "message", "least-loaded"])
def test_any_two_cut_links_leave_all_brokers_in_reach_of_each_other(paths: str) -> None:
    isolating = [{("a", "b1"), ("a", "b2")}, {("c1", "d"), ("c2", "d")}]
    for number, cut in enumerate(combinations(RouterOverlay().pairs, 2)):
        if set(cut) in isolating:
            continue
        overlay = with_clients(RouterOverlay(seed=number, paths=paths))
        for pair in cut:
            overlay.cut(*pair)
        overlay.settle()
        overlay.unsubscribe("Sd", "d")
        overlay.settle()
        overlay.subscribe("Sd", "d", "[class,eq,'E'],[n,=,1]")
        overlay.settle()
        ids = publish_everywhere(overlay, number)
        assert {client: sorted(found) for client, found in overlay.notified.items()} == {
            client: sorted(ids) for client in CLIENTS
        }, cut


def test_while_a_broker_is_cut_off_from_its_node_its_streams_take_a_detour() -> None:
    overlay = RouterOverlay(FORK)
    overlay.subscribe("S", "b2")
    overlay.settle()
    overlay.cut("b1", "b2")
    overlay.settle()
    id = overlay.publish("b1")
    overlay.settle()
    assert overlay.notified["S"] == [id]
    overlay.join("b1", "b2")
    overlay.settle()
    overlay.sent.clear()
    overlay.publish("b1")
    overlay.settle()
    assert not [label for *_, label in overlay.sent if label == "detour"]
