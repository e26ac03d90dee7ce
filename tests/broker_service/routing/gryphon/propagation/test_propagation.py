"""Propagation over redundant trees: vectors are sound after every event, whatever is lost, fails or comes back.

Broken variants show that this can fail. Each is caught by an unsound vector, or by an overlay that does not settle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.overlay import RoutingTree
from broker_service.routing.gryphon.propagation.dissemination import Dissemination, Request
from broker_service.routing.gryphon.propagation.messages import (
    Addition,
    Ask,
    Change,
    Control,
    News,
    Offer,
    Settled,
    State,
    decode_control,
)
from broker_service.routing.gryphon.propagation.parties import Parties
from broker_service.routing.gryphon.propagation.propagation import KnownState, Propagation, _vector_behind
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction
from broker_service.routing.gryphon.subscriptions.leaf_subscriptions import LeafSubscriptions
from broker_service.routing.gryphon.subscriptions.roots import Node, RootSets
from broker_service.routing.gryphon.timer_keys import AskAgain, Party
from broker_service.routing.gryphon.virtual_time import Vector, VirtualClock, dominates, encode_vector
from broker_service.routing.interface import Action, Actions, MalformedMessageError, Send
from tests.broker_service.routing.gryphon.propagation.propagation_overlay import (
    Parts,
    PropagationOverlay,
    StuckError,
    UnsoundError,
)
from tests.broker_service.routing.gryphon.subscriptions.gryphon_strategies import conjunction

TWO_CELLS = RoutingTree(
    (("PB",), ("c1", "c2"), ("d1", "d2"), ("SB1",), ("SB2",), ("SB3",)), ((0, 1), (1, 2), (2, 3), (2, 4), (1, 5))
)
"""Two nodes of two brokers in a row, with an edge broker above, two below and one aside."""
FIGURE_7 = RoutingTree((("pb",), ("i1", "i2", "i3"), ("s1",), ("s2",)), ((0, 1), (1, 2), (1, 3)))
LINE = RoutingTree((("a",), ("b",), ("c",)), ((0, 1), (1, 2)))
COMPLETE = RoutingTree((("a", "b", "c"),), ())
TREES = {"two cells": TWO_CELLS, "figure 7": FIGURE_7, "line": LINE, "complete": COMPLETE}

WIDE = [
    conjunction(text)
    for text in (
        "[x,>,0]",
        "[x,>,1]",
        "[x,>,2]",
        "[x,>,0],[y,>,0]",
        "[y,>,0]",
        "[y,>,1]",
        "[x,>,2],[y,>,1]",
    )
]


def churn(overlay: PropagationOverlay, steps: int, faults: float) -> None:
    """Operations, messages, timers and faults in an order that the seed picks."""
    rng = overlay.random
    edges = [members[0] for members in overlay.tree.nodes if len(members) == 1] or list(overlay.tree.brokers)
    number = 0
    for _ in range(steps):
        event = rng.random()
        if event < 0.25:
            name = rng.choice([name for name in edges if name in overlay.brokers] or [""])
            standing = [id for home, id in overlay.active if home == name]
            if standing and rng.random() < 0.5:
                overlay.unsubscribe(name, rng.choice(standing))
            elif name:
                number += 1
                overlay.subscribe(name, f"s{number}", rng.sample(WIDE, rng.choice((1, 1, 2))))
            if name and rng.random() < 0.8:
                overlay.flush(name)
        elif event < 0.25 + faults:
            _fault(overlay)
        elif event < 0.3 + faults:
            overlay.fire()
        else:
            overlay.deliver()


def _fault(overlay: PropagationOverlay) -> None:
    rng = overlay.random
    dead = [name for name in overlay.tree.brokers if name not in overlay.brokers]
    if dead and rng.random() < 0.6:
        overlay.restart(rng.choice(dead))
    elif overlay.cuts and rng.random() < 0.6:
        overlay.join(*rng.choice(sorted(overlay.cuts)))
    elif rng.random() < 0.5 and len(overlay.brokers) > 2:
        overlay.kill(rng.choice(sorted(overlay.brokers)))
    else:
        pair = rng.choice(overlay.pairs)
        if pair not in overlay.cuts:
            overlay.cut(*pair)


def run(tree: RoutingTree, seed: int, parts: Parts | None = None, loss: float = 0.0, faults: float = 0.0) -> None:
    overlay = PropagationOverlay(tree, seed, parts)
    overlay.loss = loss
    churn(overlay, 120, faults)
    overlay.settle()


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize(("loss", "faults"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.05, 0.05)])
def test_vectors_are_sound_after_every_event_and_equal_in_the_end(
    tree: RoutingTree, loss: float, faults: float
) -> None:
    for seed in range(4):
        run(tree, seed, loss=loss, faults=faults)


def test_without_faults_a_change_crosses_each_edge_once_and_is_acknowledged_once() -> None:
    overlay = PropagationOverlay(TWO_CELLS, 1)
    assert overlay.sent == 0
    overlay.subscribe("SB1", "s1", [WIDE[0]])
    overlay.settle()
    assert overlay.sent == 2 * (len(TWO_CELLS.brokers) - 1)


def test_a_restarted_broker_of_a_node_learns_from_the_others() -> None:
    overlay = PropagationOverlay(TWO_CELLS, 1)
    for number, each in enumerate(WIDE[:3]):
        overlay.subscribe(f"SB{number + 1}", "s", [each])
    overlay.settle()
    known = overlay.brokers["c1"].propagation.state.known
    overlay.kill("c1")
    overlay.settle()
    assert dominates(overlay.brokers["c1"].propagation.state.known, known)


# Broken variants


class IgnoresTheConstraint(KnownState):
    def applies(self, news: News, base: Vector) -> bool:
        return True


class TakesTheConstraintForALowerBound(KnownState):
    def applies(self, news: News, base: Vector) -> bool:
        return super().applies(news, base) if isinstance(news, Addition) else dominates(self.known, base)


class PassesOnNoEmptyChanges(Propagation):
    def __init__(self, *parts: Any, **services: Any) -> None:
        super().__init__(*parts, **services)
        parts = (self._view, self.state.known, parts[2])
        self.parties = OfNoEmptyChanges(
            *parts, is_up=services["is_up"], round_trip=services["round_trip"], now=services["now"]
        )
        self.dissemination = WaitsForNobody(*parts, self.parties, lost_after=lambda: 0.4)


class OfNoEmptyChanges(Parties):
    def pass_on(self, party: Party, news: News) -> list[Action]:
        empty = not news.added and not (isinstance(news, Change) and news.removed)
        return [] if empty else super().pass_on(party, news)


class WaitsForNobody(Dissemination):
    def _advance(self, party: Party, request: Request, actions: list[Action]) -> bool:
        return True


class TakesVectorsBeforeRoots(Propagation):
    def _receive_offer(self, neighbour: BrokerId, offer: Offer) -> Actions:
        self.state.raise_to(_vector_behind(self._view, offer.source, offer.known))
        return super()._receive_offer(neighbour, offer)


class HasOneRootSetForAllDirections(RootSets):
    def _is_root(self, node: Node[Any], direction: int) -> bool:
        own = node.payload.own
        return bool(own) and not node.parents and own.keys() != {direction}


class UncoversNothing(RootSets):
    def _pass_down(self, nodes: list[Node[Any]]) -> None:
        super()._pass_down([node for node in nodes if node.parents or node.payload.inherited is None])


class StartsWithTheFirstConjunction(LeafSubscriptions[str]):
    def subscribe(self, subscriber: str, conjunctions: Sequence[Conjunction]) -> int:  # type: ignore[override]
        super().subscribe(subscriber, conjunctions)
        starts = [self.graph.nodes.get(each.body) for each in conjunctions]
        self._starts[subscriber] = min(node.payload.start for node in starts if node is not None)
        return self._starts[subscriber]


BROKEN = {
    "ignores the constraint": (Parts(state=IgnoresTheConstraint), UnsoundError),
    "takes the constraint for a lower bound": (Parts(state=TakesTheConstraintForALowerBound), UnsoundError),
    "passes on no empty changes": (Parts(propagation=PassesOnNoEmptyChanges), StuckError),
    "begins the clock anew": (Parts(clock=lambda incarnation: VirtualClock()), UnsoundError),
    "takes vectors before roots": (Parts(propagation=TakesVectorsBeforeRoots), UnsoundError),
    "has one root set for all directions": (Parts(roots=HasOneRootSetForAllDirections), UnsoundError),
    "uncovers nothing": (Parts(roots=UncoversNothing), UnsoundError),
    "starts with the first conjunction": (Parts(subscriptions=StartsWithTheFirstConjunction), UnsoundError),
}


@pytest.mark.parametrize(("parts", "finding"), BROKEN.values(), ids=BROKEN)
def test_broken_variants_are_caught(parts: Parts, finding: type[AssertionError]) -> None:
    with pytest.raises(finding):
        for seed in range(300):
            try:
                run(TWO_CELLS, seed, parts, faults=0.05 * (seed % 2))
            except (UnsoundError, StuckError) as error:
                if isinstance(error, finding):
                    raise


# Messages that no correct neighbour sends

HOSTILE: dict[str, tuple[str, Control]] = {
    "news of another node": ("d1", Addition(1, 8, 1, ())),
    "news of a leaf that is not there": ("d1", Addition(2, 6, 1, ())),
    "news without a time": ("d1", Addition(2, 8, 0, ())),
    "news beyond all times": ("d1", Addition(2, 8, 1 << 63, ())),
    "news with a content that is none": ("d1", Addition(2, 8, 1, (b"\xff",))),
    "news of the receiver": ("c2", Offer(7, b"")),
    "an offer of leaves on the other side": ("d1", Offer(2, encode_vector({6: 1}))),
    "a change from leaves on the other side": ("d1", Change(2, 8, 1, (), (), encode_vector({6: 1}), 0)),
    "a vector that is none": ("d1", Offer(2, b"\xff")),
    "a request for another node": ("d1", Ask(2)),
    "a request for the sender's own leaf": ("c2", Ask(7)),
    "a state of the receiver": ("c2", State(6, b"", ())),
    "a state of another node": ("d1", State(0, b"", ())),
    "an acknowledgement of leaves that are not there": ("d1", Settled(encode_vector({99: 1}))),
    "a broker that is far away": ("SB1", Ask(1)),
}


@pytest.mark.parametrize(("sender", "control"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_messages_are_refused_and_change_nothing(sender: str, control: Control) -> None:
    overlay = PropagationOverlay(TWO_CELLS, 1)
    propagation = overlay.brokers["c1"].propagation
    with pytest.raises(MalformedMessageError):
        propagation.receive(sender, control)
    assert propagation.dissemination.is_settled
    assert propagation.state.known == {}


def test_headers_that_are_no_messages() -> None:
    for header in (b"", b"\x91\xa4nope", b"\x93\xa3ask\x01", b"\xff" * 10):
        with pytest.raises(MalformedMessageError):
            decode_control(header)


def test_only_a_broker_of_the_node_itself_is_reminded_of_what_its_state_lacks() -> None:
    overlay = PropagationOverlay(TWO_CELLS, 1)
    overlay.subscribe("PB", "s", WIDE[:1])
    overlay.settle()
    broker = overlay.brokers["c1"]
    source, leaf = TWO_CELLS.node_of["PB"], TWO_CELLS.leaves["PB"]
    broker.propagation.want(source, {leaf: 9})
    broker.propagation.timer(AskAgain(source))
    behind = State(source, b"", ())
    for _ in range(2):
        assert broker.propagation.receive("PB", behind) == ()
    assert broker.propagation.receive("c2", behind) == ()
    (reminder,) = broker.propagation.receive("PB", behind)
    assert isinstance(reminder, Send)
    assert reminder.label == "reminder"
