"""An overlay of Gryphon's routers: messages move one at a time, in an order that a seed picks, and in virtual time."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any, NamedTuple

from broker_service.language.content import decode_publication, encode_publication
from broker_service.language.notation import parse_publication, parse_subscription
from broker_service.messages import Kind, Message
from broker_service.routing import read_options
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.gryphon.overlay import RoutingTree
from broker_service.routing.interface import (
    Actions,
    AnnounceLoss,
    AnnounceStart,
    CancelTimer,
    Deliver,
    Erase,
    HoldPublishers,
    ReleasePublishers,
    RouterContext,
    Send,
    SetTimer,
    Store,
    StoredValues,
    TimerKey,
)
from broker_service.routing.interface.matcher import Comparisons, Matcher
from broker_service.tracing.trace import Recorder
from tests.broker_service.overlay import ListTrace

LINES = RoutingTree((("a",), ("b1", "b2"), ("c1", "c2"), ("d",)), ((0, 1), (1, 2), (2, 3)))
"""A broker, two nodes of two brokers in a row, and a broker."""
FIGURE_7 = RoutingTree((("pb",), ("i1", "i2", "i3"), ("s1",), ("s2",)), ((0, 1), (1, 2), (1, 3)))
COMPLETE = RoutingTree((("a", "b", "c"),), ())
"""One node, whose brokers are all linked with each other."""
LONGEST = 30.0
"""Seconds of virtual time in which an overlay settles."""


class Timer(NamedTuple):
    """A timer that runs."""

    due: float
    awaited: bool


@dataclass(frozen=True)
class Announcement:
    """The announced start of a subscription."""

    published: int
    """Publications made before."""
    covered: frozenset[str]
    """The brokers whose publications it covers: those at the other ends of links that worked, and those to which there
    was a path of such links for as long as the protocol takes to recover."""


class StuckError(AssertionError):
    """An overlay does not settle."""


@dataclass
class Running:
    """One broker's router and its timers."""

    router: GryphonRouter
    timers: dict[TimerKey, Timer] = field(default_factory=dict)


class RouterOverlay:
    """Routers on a redundant tree, whose links all work at first."""

    def __init__(
        self,
        tree: RoutingTree = LINES,
        seed: int = 0,
        router: Callable[[RouterContext[Any]], GryphonRouter] = GryphonRouter,
        **options: object,
    ) -> None:
        self.tree = tree
        self.random = random.Random(seed)
        self.now = 0.0
        self.sent: list[tuple[str, str, Message, str]] = []
        """Sender, receiver, message and label, in the order of sending."""
        self.notified: defaultdict[str, list[str]] = defaultdict(list)
        self.lost: defaultdict[str, list[tuple[int, str, int]]] = defaultdict(list)
        """Lost ranges of each client: the notifications before it, the stream, and the number of positions."""
        self.starts: dict[str, Announcement] = {}
        """Announcements of starts by client."""
        self.parted: dict[frozenset[str], float] = {}
        """The latest time at which no path of links that worked joined two brokers, which had one at first."""
        self.publishers_held: set[str] = set()
        self.up: dict[frozenset[str], bool] = {}
        self.brokers: dict[str, Running] = {}
        self.stored: dict[str, dict[str, bytes]] = {broker: {} for broker in tree.brokers}
        self.incarnations = dict.fromkeys(tree.brokers, 0)
        self._options = read_options("gryphon", options)
        self._router = router
        self._channels: defaultdict[tuple[str, str], deque[Message]] = defaultdict(deque)
        self._published = 0
        nodes = tree.nodes
        pairs = [pair for members in nodes for pair in combinations(members, 2)]
        self.pairs = pairs + [pair for a, b in tree.edges for pair in product(nodes[a], nodes[b])]
        self.cuts: list[tuple[str, str]] = []
        self.loss = 0.0
        """Share of messages that are lost."""
        self.held: set[tuple[str, str]] = set()
        """Sender and receiver of links on which nothing moves for now, though they are up."""
        self.losing: set[tuple[str, str]] = set()
        """Sender and receiver of links that lose their next message."""
        for broker in tree.brokers:
            self._start(broker)
        for a, b in self.pairs:
            self._connect(a, b)
        self.settle()
        self.parted.clear()

    # Clients

    def subscribe(self, client: str, broker: str, text: str = "[class,eq,'E']") -> None:
        self.perform(broker, self.brokers[broker].router.subscribe(client, "s", parse_subscription(text)))

    def unsubscribe(self, client: str, broker: str) -> None:
        self.perform(broker, self.brokers[broker].router.unsubscribe(client, "s"))

    def publish(self, broker: str, number: int = 1, client: str = "p") -> str:
        """The id of the publication."""
        self._published += 1
        id = f"e{self._published}"
        content = parse_publication(f"[class,'E'],[n,{number}]")
        message = Message(Kind.PUBLISH, id, encode_publication(content))
        self.perform(broker, self.brokers[broker].router.publish(client, message, content, "a"))
        return id

    # Faults

    def cut(self, a: str, b: str) -> None:
        self.cuts.append((a, b))
        self._disconnect(a, b)

    def join(self, a: str, b: str) -> None:
        self.cuts.remove((a, b))
        if {a, b} <= self.brokers.keys():
            self._connect(a, b)

    def kill(self, broker: str) -> None:
        del self.brokers[broker]
        for pair in self.pairs:
            if broker in pair:
                self._disconnect(*pair)

    def restart(self, broker: str) -> None:
        self._start(broker)
        for pair in self.pairs:
            if broker in pair and set(pair) <= self.brokers.keys() and pair not in self.cuts:
                self._connect(*pair)

    # Running

    def deliver(self) -> bool:
        """Moves one message over some link; false when there is none."""
        waiting = [pair for pair, channel in self._channels.items() if channel and pair not in self.held]
        if not waiting:
            return False
        pair = self.random.choice(waiting)
        message = self._channels[pair].popleft()
        if pair in self.losing:
            self.losing.remove(pair)
        elif self.random.random() >= self.loss:
            self.receive(*pair, message)
        return True

    def receive(self, sender: str, receiver: str, message: Message) -> None:
        self.perform(receiver, self.brokers[receiver].router.receive(sender, message))

    def quiet(self) -> None:
        """Moves all messages, without time."""
        while self.deliver():
            pass

    @property
    def awaited(self) -> list[tuple[str, TimerKey]]:
        """The awaited timers that run, by broker and key."""
        return [(name, key) for name, found in self.brokers.items() for key, t in found.timers.items() if t.awaited]

    def settle(self) -> None:
        """Moves all messages, and time until no awaited timer runs. Raises `StuckError` when that is too long."""
        self.quiet()
        until = self.now + LONGEST
        while self.awaited:
            if self.now >= until:
                raise StuckError(f"still awaited: {self.awaited}")
            self.next_timer()

    def pass_time(self, seconds: float) -> None:
        """Moves time."""
        self.quiet()
        until = self.now + seconds
        while any(timer.due <= until for found in self.brokers.values() for timer in found.timers.values()):
            self.next_timer()
        self.now = max(self.now, until)

    def perform(self, broker: str, actions: Actions) -> None:
        timers = self.brokers[broker].timers
        for action in actions:
            match action:
                case Send(neighbour, message, label):
                    self.sent.append((broker, neighbour, message, label))
                    if self.up[frozenset((broker, neighbour))]:
                        self._channels[broker, neighbour].append(message)
                case Deliver(clients, message):
                    for client in clients:
                        self.notified[client].append(message.id)
                case AnnounceStart(client):
                    self.starts[client] = Announcement(self._published, self._covered_from(broker))
                case SetTimer(key, after, awaited):
                    timers[key] = Timer(self.now + after, awaited)
                case CancelTimer(key):
                    timers.pop(key, None)
                case AnnounceLoss(clients, position, end):
                    for client in clients:
                        place = len(self.notified[client])
                        self.lost[client].append((place, position.stream, end - position.position))
                case Store(name, value):
                    self.stored[broker][name] = value
                case Erase(name):
                    self.stored[broker].pop(name, None)
                case HoldPublishers():
                    self.publishers_held.add(broker)
                case ReleasePublishers():
                    self.publishers_held.discard(broker)

    # Parts

    def next_timer(self) -> None:
        """Moves time until the next timer runs out, if one runs."""
        if not any(found.timers for found in self.brokers.values()):
            return
        due, broker, key = min(
            ((timer.due, name, key) for name, found in self.brokers.items() for key, timer in found.timers.items()),
            key=lambda each: each[:2],
        )
        self.now = due
        del self.brokers[broker].timers[key]
        self.perform(broker, self.brokers[broker].router.timer(key))
        self.quiet()

    def _reached_from(self, broker: str) -> frozenset[str]:
        """The brokers to which there is a path of links that work."""
        found, ring = {broker}, [broker]
        while ring:
            near = ring.pop()
            ends = [next(iter(pair - {near})) for pair, is_up in self.up.items() if is_up and near in pair]
            ring += [end for end in ends if end not in found]
            found |= set(ends)
        return frozenset(found)

    def _covered_from(self, broker: str) -> frozenset[str]:
        """The brokers that an announcement which this one makes now covers."""
        since = self.now - self._options.reconciles_within
        ends = {other: frozenset((broker, other)) for other in self._reached_from(broker)}
        return frozenset(
            other for other, pair in ends.items() if self.up.get(pair) or self.parted.get(pair, since) <= since
        )

    def _start(self, broker: str) -> None:
        self.incarnations[broker] += 1
        neighbours = [other for pair in self.pairs if broker in pair for other in pair if other != broker]
        comparisons = Comparisons(lambda: 0, decode_publication, Recorder(ListTrace(broker), lambda: 0))
        self.up |= {frozenset((broker, other)): False for other in neighbours}
        context = RouterContext(
            broker=broker,
            incarnation=self.incarnations[broker],
            attributes={},
            links={other: _Link(self.up, frozenset((broker, other))) for other in neighbours},
            options=self._options,
            started_at=0,
            now=lambda: self.now,
            prepared=encode_header(self.tree),
            random=random.Random(1),
            matcher=lambda: Matcher(comparisons),
            report_dropped=lambda message, reason: None,
            storage=StoredValues(self.stored[broker], 1 << 20),
        )
        self.brokers[broker] = Running(self._router(context))

    def _connect(self, a: str, b: str) -> None:
        near, far = self._reached_from(a), self._reached_from(b)
        self.parted |= {frozenset(ends): self.now for ends in product(near - far, far - near)}
        self.up[frozenset((a, b))] = True
        for one, other in ((a, b), (b, a)):
            self.perform(one, self.brokers[one].router.link_up(other, self.incarnations[other]))

    def _disconnect(self, a: str, b: str) -> None:
        was_up, self.up[frozenset((a, b))] = self.up[frozenset((a, b))], False
        for one, other in ((a, b), (b, a)):
            self._channels[one, other].clear()
            if one in self.brokers and was_up:
                self.perform(one, self.brokers[one].router.link_down(other))


class _Link(SimpleNamespace):
    """The status of a link with an empty queue."""

    queue_length = 0
    sent = 0
    round_trip = None

    def __init__(self, states: Mapping[frozenset[str], bool], ends: frozenset[str]) -> None:
        super().__init__(states=states, ends=ends)

    @property
    def up(self) -> bool:
        return bool(self.states[self.ends])
