"""Streams over several paths while brokers have more to do than they can: what is late is not made later."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from broker_service.routing.gryphon.routing_tree import RoutingTree
from tests.broker_service.routing.gryphon.router_overlay import RouterOverlay

TREE = RoutingTree((("a",), ("b1", "b2"), ("c",)), ((0, 1), (1, 2)))


def publications_held_back(overlay: RouterOverlay) -> int:
    """Publications that the broker of the subscriber holds back."""
    streams = overlay.brokers["c"].router._forwarding.streams
    return sum(state.horizon.publications for state in streams.values())


def calls_of_an_arrival(held_back: int) -> int:
    """Function calls that the arrival of a publication takes, while others are held back because b1 is late."""
    overlay = RouterOverlay(TREE, paths="message")
    overlay.subscribe("S", "c")
    overlay.settle()
    overlay.publish("a")
    overlay.settle()
    overlay.held = {("b1", "c")}
    for _ in range(2 * held_back):
        overlay.publish("a")
        overlay.quiet()
    assert publications_held_back(overlay) == held_back
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    overlay.publish("a")
    overlay.publish("a")
    sys.setprofile(count)
    try:
        overlay.quiet()
    finally:
        sys.setprofile(None)
    assert publications_held_back(overlay) == held_back + 1
    return calls


@pytest.mark.source("calls are counted")
def test_an_arrival_takes_as_much_work_however_many_publications_are_held_back() -> None:
    assert calls_of_an_arrival(300) < 1.1 * calls_of_an_arrival(10)
