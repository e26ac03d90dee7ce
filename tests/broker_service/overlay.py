"""An overlay of broker cores in one process, without time: frames move one at a time, in an order a seed picks."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker_service.config import BrokerConfig, Limits, LinkConfig
from broker_service.core.broker import Broker
from broker_service.core.session import Session
from broker_service.language import Predicate, Publication, Value
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.language.notation import parse_composite
from broker_service.messages import ClientRequest, Operation, Outcome
from broker_service.routing.interface import TimerKey
from record.log import Event, TraceRecord
from tests.broker_service.manual_timers import ManualTimers

STEPS_AT_MOST = 200_000


@dataclass
class ListTrace:
    """A log kept in memory."""

    node: str
    variant: str = "base"
    records: list[TraceRecord] = field(default_factory=list)

    @property
    def written(self) -> int:
        return len(self.records)

    def write(self, record: TraceRecord) -> None:
        self.records.append(record)

    def of(self, event: Event) -> list[TraceRecord]:
        return [record for record in self.records if record.event is event]


class CoreOverlay:
    """Broker cores joined by links that keep order and lose nothing, until a broker is killed."""

    def __init__(
        self,
        links: Iterable[tuple[str, str]],
        brokers: Iterable[str] = (),
        options: Mapping[str, Any] | None = None,
        seed: int = 0,
        limits: Limits | None = None,
        protocol: str = "tid",
        attributes: Mapping[str, Mapping[str, Any]] | None = None,
        starts: Mapping[str, int] | None = None,
    ) -> None:
        """`attributes` are the brokers' overlay attributes; without any, none is known of them. `starts` are those of
        `BrokerConfig`."""
        self.starts = None if starts is None else dict(starts)
        self.links = [tuple(link) for link in links]
        self.names = sorted({*brokers, *(end for link in self.links for end in link)})
        self.options = dict(options or {})
        self.limits = limits or Limits()
        self.protocol = protocol
        self.attributes = {name: dict((attributes or {}).get(name, {})) for name in self.names}
        self.seed = seed
        self.random = random.Random(seed)
        self.time = 0
        self.traces = {name: ListTrace(name) for name in self.names}
        self.incarnations = dict.fromkeys(self.names, 0)
        self.brokers: dict[str, Broker] = {}
        self.sessions: dict[str, tuple[str, Session]] = {}
        self._timers: dict[str, ManualTimers] = {}
        self.notified: dict[str, list[str]] = defaultdict(list)
        self.detected: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
        """Detections by client: the name of the composite subscription, and the publications."""
        self.started: list[str] = []
        """The clients' names of subscriptions whose starts were announced, in order."""
        self.rejected: list[str] = []
        self.cuts: list[set[str]] = []
        self.held: set[tuple[str, str]] = set()
        """(from, to): directions of links in which nothing moves for now, though they are up."""
        for name in self.names:
            self._start(name)
        for a, b in self.links:
            self._connect(a, b)
        self.settle()

    def clock(self) -> int:
        self.time += 1000
        return self.time

    # Clients

    def request(self, client: str, operation: Operation, id: str = "", body: bytes = b"", published: int = 0) -> None:
        broker, session = self.sessions[client]
        if broker in self.brokers:
            self.brokers[broker].sessions.handle(session, [ClientRequest(client, 0, operation, id, body, published)])

    def attach(self, client: str, broker: str) -> None:
        self.sessions[client] = (broker, self.brokers[broker].sessions.open())
        self.request(client, Operation.ATTACH)

    def advertise(self, client: str, id: str, predicates: Iterable[Predicate]) -> None:
        self.request(client, Operation.ADVERTISE, id, encode_predicates(tuple(predicates)))

    def subscribe(self, client: str, id: str, predicates: Iterable[Predicate]) -> None:
        self.request(client, Operation.SUBSCRIBE, id, encode_predicates(tuple(predicates)))

    def compose(self, client: str, id: str, pattern: str, within: int | None = None) -> None:
        """`pattern` is in the notation, `within` in nanoseconds."""
        composite = CompositeSubscription(parse_composite(pattern), within)
        self.request(client, Operation.COMPOSE, id, encode_composite(composite))

    def publish(self, client: str, id: str, attributes: Mapping[str, Value], published: int = 0) -> None:
        self.request(client, Operation.PUBLISH, id, encode_publication(Publication(attributes)), published)

    # Running

    @property
    def timers(self) -> dict[tuple[str, TimerKey], float]:
        """Seconds that each running timer was set to, by broker and key."""
        return {
            (name, key): timer.after for name, timers in self._timers.items() for key, timer in timers.running.items()
        }

    def settle(self) -> None:
        """Moves frames until nothing waits. Fails when that takes for ever."""
        for _ in range(STEPS_AT_MOST):
            if not self.step():
                return
        raise AssertionError("messages wander for ever")

    def step(self) -> bool:
        """Moves one frame over one link, or reads one session; False when nothing waits."""
        ready = [
            (name, link.neighbour)
            for name, broker in self.brokers.items()
            for link in broker.links.values()
            if link.sendable and link.neighbour in self.brokers and (name, link.neighbour) not in self.held
        ]
        for client in self.sessions:
            self._read(client)
        if not ready:
            return False
        sender, receiver = self.random.choice(ready)
        link = self.brokers[sender].links[receiver]
        self.brokers[receiver].neighbours.receive(sender, link.take())
        link.retransmission.acknowledge(self.brokers[receiver].links[sender].received)
        return True

    def fire_timers(self) -> None:
        """Lets all timers that are set run out."""
        for broker, key in sorted(self.timers, key=repr):
            if key in self._timers[broker].running:
                self._timers[broker].fire(key)

    def kill(self, name: str) -> None:
        del self.brokers[name]
        self._timers[name] = ManualTimers()
        for client, (broker, _session) in list(self.sessions.items()):
            if broker == name:
                del self.sessions[client]
        for neighbour in self._neighbours(name):
            if neighbour in self.brokers:
                self.brokers[neighbour].neighbours.link_down(name)

    def restart(self, name: str) -> None:
        self._start(name)
        for neighbour in self._neighbours(name):
            if neighbour in self.brokers and {name, neighbour} not in self.cuts:
                self._connect(name, neighbour)

    def cut(self, a: str, b: str) -> None:
        """A link carries nothing any more; what waits for it waits."""
        self.cuts.append({a, b})
        for one, other in ((a, b), (b, a)):
            if one in self.brokers:
                self.brokers[one].neighbours.link_down(other)

    def join(self, a: str, b: str) -> None:
        """A link that was cut works again."""
        self.cuts.remove({a, b})
        self._connect(a, b)

    def appear(self, a: str, b: str) -> None:
        """Two brokers become neighbours, and their link comes up."""
        self.links.append((a, b))
        for broker, neighbour in ((a, b), (b, a)):
            if broker in self.brokers:
                self.brokers[broker].neighbours.add(LinkConfig(neighbour=neighbour, local="", remote="", dial=False))
        if a in self.brokers and b in self.brokers:
            self._connect(a, b)

    def vanish(self, a: str, b: str) -> None:
        """Two brokers are neighbours no more; what their link holds is lost."""
        was_up = {a, b} not in self.cuts and a in self.brokers and b in self.brokers
        self.cuts = [cut for cut in self.cuts if cut != {a, b}]
        self.links = [link for link in self.links if set(link) != {a, b}]
        for broker, neighbour in ((a, b), (b, a)):
            if broker in self.brokers:
                if was_up:
                    self.brokers[broker].neighbours.link_down(neighbour)
                self.brokers[broker].neighbours.remove(neighbour)

    # What happened

    def records(self, event: Event) -> list[TraceRecord]:
        return [record for trace in self.traces.values() for record in trace.of(event)]

    def received_publications(self) -> list[tuple[str, str]]:
        """(broker, publication) for each copy that came over a link."""
        return [
            (record.node, record.id or "")
            for record in self.records(Event.RECEIVED)
            if record.kind == "publish" and record.peer is not None
        ]

    def _start(self, name: str) -> None:
        self.incarnations[name] += 1
        self._timers[name] = ManualTimers()
        config = BrokerConfig(
            id=name,
            incarnation=self.incarnations[name],
            protocol=self.protocol,
            options=self.options,
            attributes=self.attributes[name],
            limits=self.limits,
            seed=self.seed,
            starts=self.starts,
            links=tuple(
                LinkConfig(neighbour=neighbour, local="", remote="", dial=False, attributes=self.attributes[neighbour])
                for neighbour in self._neighbours(name)
            ),
        )
        self.brokers[name] = Broker(
            config,
            self.clock,
            self.traces[name],
            self._timers[name].schedule,
        )

    def _connect(self, a: str, b: str) -> None:
        handled = {(one, other): self._handled(one, other) for one, other in ((a, b), (b, a))}
        for one, other in ((a, b), (b, a)):
            self.brokers[one].neighbours.link_up(other, self.incarnations[other], handled[one, other])

    def _handled(self, one: str, other: str) -> int:
        """Messages of the present incarnation of one broker that the other has handled."""
        link = self.brokers[other].links[one]
        return link.received if link.neighbour_incarnation == self.incarnations[one] else 0

    def _neighbours(self, name: str) -> list[str]:
        return [b if a == name else a for a, b in self.links if name in (a, b)]

    def _read(self, client: str) -> None:
        _broker, session = self.sessions[client]
        for event in session.take(1_000_000):
            if event.publications:
                for name in event.clients:
                    self.detected[name].append((event.id, tuple(member.id for member in event.publications)))
            elif event.outcome is Outcome.NOTIFIED:
                for name in event.clients:
                    self.notified[name].append(event.id)
            elif event.outcome is Outcome.STARTED:
                self.started.append(event.id)
            elif event.outcome is Outcome.REJECTED:
                self.rejected.append(event.reason)
