"""Roots that a reminder adds are forgotten once the source can be asked, at every broker that has learned them."""

from __future__ import annotations

import pytest

from broker_service.routing.gryphon.overlay import RoutingTree
from tests.broker_service.routing.gryphon.propagation.propagation_overlay import PropagationOverlay
from tests.broker_service.routing.gryphon.propagation.test_propagation import WIDE

LINE = RoutingTree((("a",), ("b1",), ("c",), ("d",)), ((0, 1), (1, 2), (2, 3)))
STAR = RoutingTree((("a",), ("b1",), ("c",), ("d",)), ((0, 1), (1, 2), (1, 3)))
TWINS = RoutingTree((("a",), ("b1", "b2"), ("c1", "c2"), ("d",)), ((0, 1), (1, 2), (2, 3)))
TREES = {"line": LINE, "star": STAR, "two brokers in a node": TWINS}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_no_broker_keeps_roots_of_clients_that_two_failures_took(tree: RoutingTree, loss: float) -> None:
    for seed in range(3):
        overlay = PropagationOverlay(tree, seed)
        middle = tree.nodes[1]
        for number, broker in enumerate((*middle, "a")):
            overlay.subscribe(broker, "s", WIDE[2 * number : 2 * number + 1])
        overlay.settle()
        overlay.kill("a")
        overlay.settle()
        between = [pair for pair in overlay.pairs if "a" in pair]
        for broker in middle:
            overlay.kill(broker)
        for pair in between:
            overlay.cut(*pair)
        for broker in middle:
            overlay.restart(broker)
        overlay.pass_rounds(20)
        assert left(overlay)
        overlay.loss = loss
        for pair in between:
            overlay.join(*pair)
        overlay.pass_rounds(20)
        overlay.settle()
        assert left(overlay) == {}


def left(overlay: PropagationOverlay) -> dict[tuple[str, int], int]:
    """Numbers of roots by broker and source, where there are any."""
    return {
        (name, source): len(found)
        for name, broker in overlay.brokers.items()
        for source in broker.view.behind
        if len(found := broker.roots.received[source])
    }
