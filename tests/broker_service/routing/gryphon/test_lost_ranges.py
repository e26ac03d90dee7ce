"""Leaves that were cut off for longer than publications are kept for them, and those that nobody needs to wait for."""

from __future__ import annotations

from typing import Any

import pytest

from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.gryphon.streams.horizon import Horizon
from tests.broker_service.routing.gryphon.router_overlay import FIGURE_7, RouterOverlay

INNER = ("i1", "i2", "i3")


def cut_off(overlay: RouterOverlay) -> None:
    for inner in INNER:
        overlay.cut(inner, "s2")


def come_back(overlay: RouterOverlay) -> None:
    for inner in INNER:
        overlay.join(inner, "s2")
    overlay.pass_time(2.0)
    overlay.settle()


def publish_while_cut_off(router: type[GryphonRouter] = GryphonRouter) -> tuple[RouterOverlay, list[str]]:
    """An overlay with a subscriber at each of two leaves, of which one was cut off for longer than it is waited for."""
    overlay = RouterOverlay(FIGURE_7, 1, router, forget_after=4.0)
    for leaf in ("s1", "s2"):
        overlay.subscribe(f"S@{leaf}", leaf)
    overlay.settle()
    ids = [overlay.publish("pb") for _ in range(3)]
    overlay.settle()
    cut_off(overlay)
    for _ in range(10):
        ids.append(overlay.publish("pb"))
        overlay.pass_time(1.0)
    come_back(overlay)
    ids.append(overlay.publish("pb"))
    overlay.settle()
    return overlay, ids


def test_what_was_given_up_for_a_client_is_announced_in_its_place() -> None:
    overlay, ids = publish_while_cut_off()
    assert overlay.notified["S@s1"] == ids
    assert "S@s1" not in overlay.lost
    got, missing = overlay.notified["S@s2"], [id for id in ids if id not in overlay.notified["S@s2"]]
    assert missing
    assert got == [*ids[:3], *ids[3 + len(missing) :]]
    assert overlay.lost["S@s2"] == [(3, "pb", len(missing))]


def test_what_was_given_up_is_remembered_when_the_publishers_broker_fails() -> None:
    overlay = RouterOverlay(FIGURE_7, 2, forget_after=4.0)
    for leaf in ("s1", "s2"):
        overlay.subscribe(f"S@{leaf}", leaf)
    overlay.settle()
    cut_off(overlay)
    for _ in range(8):
        overlay.publish("pb")
        overlay.pass_time(1.0)
    overlay.kill("pb")
    overlay.restart("pb")
    come_back(overlay)
    last = overlay.publish("pb")
    overlay.settle()
    assert overlay.notified["S@s2"][-1] == last
    ((_, stream, count),) = overlay.lost["S@s2"]
    assert stream == "pb"
    assert count >= 8 - len(overlay.notified["S@s2"]) + 1


def test_a_subscription_made_after_what_was_given_up_has_lost_nothing() -> None:
    overlay = RouterOverlay(FIGURE_7, 3, forget_after=4.0)
    overlay.subscribe("S@s2", "s2", "[class,eq,'E'],[n,=,1]")
    overlay.settle()
    cut_off(overlay)
    overlay.subscribe("T@s2", "s2")
    for _ in range(8):
        overlay.publish("pb")
        overlay.pass_time(1.0)
    come_back(overlay)
    assert overlay.lost["S@s2"]
    assert "T@s2" not in overlay.lost


@pytest.mark.parametrize("with_subscriber", [False, True])
def test_a_leaf_that_is_dead_for_good_holds_up_nobody(with_subscriber: bool) -> None:
    overlay = RouterOverlay(FIGURE_7, 4, log_bytes=4_000)
    overlay.subscribe("S@s1", "s1")
    if with_subscriber:
        overlay.subscribe("S@s2", "s2")
    else:
        overlay.kill("s2")
        overlay.restart("s2")
    overlay.settle()
    overlay.kill("s2")
    ids = []
    for _ in range(200):
        ids.append(overlay.publish("pb"))
        overlay.pass_time(0.2)
        assert not overlay.publishers_held
    overlay.settle()
    assert overlay.notified["S@s1"] == ids


def test_a_broker_without_subscribers_is_owed_nothing() -> None:
    overlay = RouterOverlay(FIGURE_7, 5)
    overlay.subscribe("S@s1", "s1")
    for broker in ("i1", "s2"):
        overlay.kill(broker)
        overlay.restart(broker)
        overlay.settle()
    overlay.publish("pb")
    overlay.pass_time(1.0)
    for broker in ("i1", "s2"):
        overlay.kill(broker)
    for _ in range(20):
        overlay.publish("pb")
        overlay.pass_time(0.5)
    assert overlay.brokers["pb"].router.tables()["log"] == 0


class TakesTheLostForSilent(GryphonRouter):
    """Tells clients nothing of what is lost."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._forwarding.state

        def state(stream: int) -> Any:
            found = original(stream)
            found.horizon.lose = lambda start, end: Horizon.silence(found.horizon, start, end)  # type: ignore[method-assign]
            return found

        self._forwarding.state = state  # type: ignore[method-assign]


def test_silence_in_place_of_what_is_lost_is_noticed() -> None:
    overlay, ids = publish_while_cut_off(TakesTheLostForSilent)
    assert overlay.notified["S@s2"] != ids
    assert not overlay.lost
