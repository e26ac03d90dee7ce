"""An overlay of propagating brokers without a router: messages move one at a time, in an order that a seed picks."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from broker_service.language.relations import covers
from broker_service.routing.gryphon.overlay import LocalView, RoutingTree
from broker_service.routing.gryphon.propagation.messages import decode_control
from broker_service.routing.gryphon.propagation.parties import Exchanges
from broker_service.routing.gryphon.propagation.propagation import KnownState, Propagation
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction
from broker_service.routing.gryphon.subscriptions.covering import ExactCovering
from broker_service.routing.gryphon.subscriptions.leaf_subscriptions import LeafSubscriptions
from broker_service.routing.gryphon.subscriptions.roots import RootSets
from broker_service.routing.gryphon.virtual_time import VirtualClock
from broker_service.routing.interface import Actions, CancelTimer, Send, SetTimer, TimerKey

ROUNDS = 60
"""Times that all timers may run out until an overlay is settled."""


@dataclass(frozen=True)
class Parts:
    """The classes that brokers are made of; a broken variant replaces one."""

    propagation: type[Propagation] = Propagation
    state: type[KnownState] = KnownState
    roots: type[RootSets] = RootSets
    subscriptions: type[LeafSubscriptions[str]] = LeafSubscriptions
    clock: Callable[[int], VirtualClock] = VirtualClock


@dataclass
class ModelBroker:
    """A broker without publications."""

    incarnation: int
    propagation: Propagation
    subscriptions: LeafSubscriptions[str]
    view: LocalView
    roots: RootSets
    timers: dict[TimerKey, bool] = field(default_factory=dict)


class UnsoundError(AssertionError):
    """Roots of a broker do not cover a subscription that its vector stands for."""


class StuckError(AssertionError):
    """An overlay without faults does not come to an end, or not to the same state everywhere."""


class PropagationOverlay:
    """Brokers on a redundant tree. After every event the overlay checks that vectors are sound."""

    def __init__(self, tree: RoutingTree, seed: int, parts: Parts | None = None, loss: float = 0.0) -> None:
        self.tree = tree
        self.random = random.Random(seed)
        self.parts = parts or Parts()
        self.loss = loss
        self.now = 0.0
        self.channels: defaultdict[tuple[str, str], deque[bytes]] = defaultdict(deque)
        self.up: dict[tuple[str, str], bool] = {}
        self.brokers: dict[str, ModelBroker] = {}
        self.incarnations = dict.fromkeys(tree.brokers, 0)
        self.active: dict[tuple[str, str], tuple[tuple[Conjunction, ...], int]] = {}
        """Conjunctions and virtual start time of each active subscription, by broker and subscription."""
        self.sent = 0
        nodes = [*tree.nodes]
        pairs = [pair for members in nodes for pair in combinations(members, 2)]
        self.pairs = pairs + [pair for a, b in tree.edges for pair in product(nodes[a], nodes[b])]
        self.cuts: set[tuple[str, str]] = set()
        for broker in tree.brokers:
            self._make(broker)
        for a, b in self.pairs:
            self._connect(a, b)
        self.settle()

    # Events

    def subscribe(self, broker: str, id: str, conjunctions: Sequence[Conjunction]) -> None:
        start = self.brokers[broker].subscriptions.subscribe(id, conjunctions)
        self.active[broker, id] = (tuple(conjunctions), start)
        for name in self.brokers:
            self.check(name)

    def unsubscribe(self, broker: str, id: str) -> None:
        self.brokers[broker].subscriptions.unsubscribe(id)
        del self.active[broker, id]

    def flush(self, broker: str) -> None:
        """Ends the batch of a broker's operations."""
        found = self.brokers[broker]
        change = found.subscriptions.flush()
        if change is not None:
            self._perform(broker, found.propagation.announce(change))

    def kill(self, broker: str) -> None:
        del self.brokers[broker]
        self.active = {key: value for key, value in self.active.items() if key[0] != broker}
        for a, b in self.pairs:
            if broker in (a, b):
                self._disconnect(a, b)

    def restart(self, broker: str) -> None:
        self._make(broker)
        for a, b in self.pairs:
            if broker in (a, b) and {a, b} <= self.brokers.keys() and (a, b) not in self.cuts:
                self._connect(a, b)

    def cut(self, a: str, b: str) -> None:
        self.cuts.add((a, b))
        self._disconnect(a, b)

    def join(self, a: str, b: str) -> None:
        self.cuts.discard((a, b))
        if {a, b} <= self.brokers.keys():
            self._connect(a, b)

    def deliver(self) -> bool:
        """Moves one message over some link; false when there is none."""
        waiting = [pair for pair, channel in self.channels.items() if channel]
        if not waiting:
            return False
        sender, receiver = self.random.choice(waiting)
        header = self.channels[sender, receiver].popleft()
        if self.random.random() >= self.loss:
            broker = self.brokers[receiver]
            self._perform(receiver, broker.propagation.receive(sender, decode_control(header)))
        return True

    def fire(self) -> bool:
        """Lets one timer run out; false when there is none."""
        running = [(name, key) for name, broker in self.brokers.items() for key in broker.timers]
        if not running:
            return False
        name, key = self.random.choice(running)
        del self.brokers[name].timers[key]
        self._perform(name, self.brokers[name].propagation.timer(key))
        return True

    def settle(self) -> None:
        """Heals all faults and lets everything come to an end. Raises `StuckError` when it does not."""
        self.loss = 0.0
        for name in self.tree.brokers:
            if name not in self.brokers:
                self.restart(name)
        for a, b in sorted(self.cuts):
            self.join(a, b)
        for name in self.tree.brokers:
            self.flush(name)
        self.pass_rounds(ROUNDS)
        self._require_equal()

    def pass_rounds(self, most: int) -> None:
        """Moves all messages and lets all timers run out, again and again while any timer runs."""
        for _ in range(most):
            while self.deliver():
                pass
            if not any(broker.timers for broker in self.brokers.values()):
                break
            for name, broker in self.brokers.items():
                for key in list(broker.timers):
                    if broker.timers.pop(key, None) is not None:
                        self._perform(name, broker.propagation.timer(key))

    # Checks

    def check(self, name: str) -> None:
        """Raises `UnsoundError` unless the roots of a broker cover what its vector stands for."""
        broker = self.brokers[name]
        for (home, id), (conjunctions, start) in self.active.items():
            leaf = self.tree.leaves[home]
            if broker.propagation.state.known.get(leaf, 0) < start:
                continue
            roots = broker.roots.received[broker.view.source_of[leaf]]
            for conjunction in conjunctions:
                if not any(_covers(root, conjunction) for root in roots):
                    raise UnsoundError(f"{name} has no root for {id} of {home}, which started at {start}")

    def _require_equal(self) -> None:
        announced = {
            self.tree.leaves[name]: broker.propagation.state.known.get(self.tree.leaves[name], 0)
            for name, broker in self.brokers.items()
        }
        for name, broker in self.brokers.items():
            if broker.timers or not broker.propagation.dissemination.is_settled:
                raise StuckError(f"{name} still waits: {broker.timers}")
            lacking = {leaf for leaf, time in announced.items() if broker.propagation.state.known.get(leaf, 0) != time}
            if lacking:
                raise StuckError(f"{name} has not the latest news of the leaves {lacking}")

    # Parts

    def _make(self, name: str) -> None:
        self.incarnations[name] += 1
        incarnation = self.incarnations[name]
        view = LocalView.of(self.tree, name)
        self.up |= {(name, other): False for other in (*view.peers, *view.node_of)}
        clock = self.parts.clock(incarnation)
        roots = self.parts.roots(tuple(view.behind), tuple(view.members), ExactCovering())
        propagation = self.parts.propagation(
            view,
            self.parts.state(view, roots, clock.announced, _ignore),
            Exchanges(0.1, 60.0),
            ask_after=0.1,
            is_up=lambda neighbour: self.up[name, neighbour],
            round_trip=lambda _: 0.0,
            now=lambda: self.now,
            require_room=lambda _: None,
        )
        subscriptions = self.parts.subscriptions(clock, ExactCovering())
        self.brokers[name] = ModelBroker(incarnation, propagation, subscriptions, view, roots)

    def _connect(self, a: str, b: str) -> None:
        for one, other in ((a, b), (b, a)):
            self.up[one, other] = True
        for one, other in ((a, b), (b, a)):
            self._perform(one, self.brokers[one].propagation.link_up(other, self.incarnations[other]))

    def _disconnect(self, a: str, b: str) -> None:
        for one, other in ((a, b), (b, a)):
            was_up, self.up[one, other] = self.up[one, other], False
            self.channels[one, other].clear()
            if one in self.brokers and was_up:
                self._perform(one, self.brokers[one].propagation.link_down(other))

    def _perform(self, name: str, actions: Actions) -> None:
        timers = self.brokers[name].timers
        for action in actions:
            match action:
                case Send(neighbour, message):
                    self.sent += 1
                    if self.up[name, neighbour]:
                        self.channels[name, neighbour].append(message.header)
                case SetTimer(key):
                    timers[key] = True
                case CancelTimer(key):
                    timers.pop(key, None)
        self.check(name)


def _ignore(source: int, added: Iterable[Conjunction], removed: Iterable[Conjunction]) -> None:
    pass


_covered: dict[tuple[bytes, bytes], bool] = {}


def _covers(general: Conjunction, special: Conjunction) -> bool:
    key = general.body, special.body
    if key not in _covered:
        _covered[key] = covers(general.subscription, special.subscription)
    return _covered[key]
