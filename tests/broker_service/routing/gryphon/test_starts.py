"""Announced starts of subscriptions that earlier ones cover: their start times settled once, and others may have come
since. `test_streams` has the announcements in random runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.gryphon.overlay import RoutingTree
from broker_service.routing.interface import RouterContext
from tests.broker_service.routing.gryphon.router_overlay import COMPLETE, FIGURE_7, LINES, RouterOverlay
from tests.properties.gryphon import gryphon_mutants as mutants

Router = Callable[[RouterContext[Any]], GryphonRouter]
RETURNING = [(COMPLETE, "b", "c"), (FIGURE_7, "s1", "i2")]
"""Trees, the broker of the subscriptions, and the one that is down."""


def a_start_time_that_settled_while_a_broker_was_down(router: Router, tree: RoutingTree, home: str, down: str) -> bool:
    """X and S at `home` have the same start time. It settles while `down` is down, which then comes back and gets no
    message until it has published. True when the start of S was announced before that publication."""
    overlay = RouterOverlay(tree, router=router)
    overlay.kill(down)
    overlay.subscribe("X", home)
    overlay.settle()
    assert "X" in overlay.starts
    overlay.held = {(other, down) for other in tree.brokers}
    overlay.restart(down)
    overlay.subscribe("S", home)
    overlay.pass_time(0.05)
    missed = overlay.publish(down)
    overlay.held.clear()
    overlay.settle()
    overlay.publish(down)
    overlay.settle()
    assert missed not in overlay.notified["S"]
    assert overlay.notified["S"]
    return overlay.starts["S"].published == 0


@pytest.mark.parametrize(("tree", "home", "down"), RETURNING)
def test_a_neighbour_that_has_come_back_is_waited_for(tree: RoutingTree, home: str, down: str) -> None:
    assert not a_start_time_that_settled_while_a_broker_was_down(GryphonRouter, tree, home, down)


@pytest.mark.parametrize(
    ("router", "place"), [(mutants.AnnouncesOldStartsAtOnce, 0), (mutants.ForgetsThoseThatComeUp, 1)]
)
def test_announcing_an_old_start_at_once_is_caught(router: type[GryphonRouter], place: int) -> None:
    assert a_start_time_that_settled_while_a_broker_was_down(router, *RETURNING[place])


def test_a_broker_that_can_reach_no_other_one_announces_no_old_start_either() -> None:
    overlay = RouterOverlay(COMPLETE)
    overlay.subscribe("X", "b")
    overlay.settle()
    for other in ("a", "c"):
        overlay.cut(other, "b")
    overlay.subscribe("S", "b")
    overlay.pass_time(10.0)
    assert "S" not in overlay.starts
    overlay.join("a", "b")
    overlay.settle()
    assert "S" in overlay.starts


def test_an_old_start_is_announced_without_a_message_where_all_have_acknowledged_it() -> None:
    overlay = RouterOverlay(LINES)
    overlay.subscribe("X", "b1")
    overlay.settle()
    overlay.sent.clear()
    overlay.subscribe("S", "b1")
    overlay.settle()
    assert "S" in overlay.starts
    assert not overlay.sent


def test_many_old_starts_of_one_batch_are_awaited_by_the_greatest_of_them() -> None:
    overlay, numbers = RouterOverlay(LINES), range(200)
    for number in numbers:
        overlay.subscribe(f"X{number}", "d", f"[class,eq,'E'],[n,=,{number}]")
        overlay.settle()
    overlay.cut("c1", "d")
    overlay.cut("c2", "d")
    overlay.sent.clear()
    for number in numbers:
        overlay.subscribe(f"S{number}", "d", f"[class,eq,'E'],[n,=,{number}]")
    overlay.pass_time(0.05)
    assert len(overlay.brokers["d"].router._propagation.dissemination._requests) == 1
    assert not any(client.startswith("S") for client in overlay.starts)
    overlay.join("c1", "d")
    overlay.settle()
    assert all(f"S{number}" in overlay.starts for number in numbers)
    assert sum(sender == "d" for sender, *_ in overlay.sent) < 10
