"""Brokers of a random tree that exchange statistics, without routers: messages travel in the order of each link."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable

import msgspec

from broker_service.language import Publication
from broker_service.language.notation import parse_advertisement
from broker_service.messages import BrokerId, Message
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import Action, CancelTimer, Send, SetTimer
from broker_service.routing.tid.placement.decision.measurement import Measurement
from broker_service.routing.tid.placement.exchange import Exchange, ExchangeMessage
from broker_service.routing.tid.tables import AdvertisementRow, SubscriptionRoutingTable
from broker_service.service import ServiceTotals

INTERVAL = 5.0
ADVERTISEMENT = parse_advertisement("[class,eq,'A'],[x,isPresent,0]")

_decode = msgspec.msgpack.Decoder(ExchangeMessage).decode


class Broker:
    """One broker: its table, its exchange and its timer."""

    def __init__(self, name: BrokerId, network: Network) -> None:
        self.name = name
        self.table = SubscriptionRoutingTable()
        self.service = ServiceTotals(0, 0, 0)
        self.exchange = Exchange(
            self.table,
            Measurement({}, lambda: self.service),
            interval=INTERVAL,
            now=lambda: network.now,
        )
        self.ticking = False

    def add_tree(self, tid: str, last_hop: BrokerId | None) -> None:
        advertisement = ADVERTISEMENT if last_hop is None else None
        self.table.add(AdvertisementRow(tid, b"", last_hop, (), Home("root", 1), advertisement))


class Network:
    """All brokers, and the messages between them."""

    def __init__(self, parents: dict[BrokerId, BrokerId | None]) -> None:
        """`parents` leads to the root of the tree `T.1.1`."""
        self.now = 0.0
        self.parents = parents
        self.brokers = {name: Broker(name, self) for name in parents}
        for name, parent in parents.items():
            self.brokers[name].add_tree("T.1.1", parent)
        self.sent: Counter[tuple[BrokerId, BrokerId, str]] = Counter()
        """Messages since it was cleared, by sender, receiver and type."""
        self._travelling: deque[tuple[BrokerId, BrokerId, Message]] = deque()

    def perform(self, broker: BrokerId, actions: Iterable[Action]) -> None:
        """Performs a broker's actions, and handles everything that follows from them."""
        self._take(broker, actions)
        while self._travelling:
            sender, receiver, message = self._travelling.popleft()
            self._take(receiver, self.brokers[receiver].exchange.receive(sender, _decode(message.header)))

    def _take(self, broker: BrokerId, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Send):
                self.sent[broker, action.neighbour, type(_decode(action.message.header)).__name__] += 1
                self._travelling.append((broker, action.neighbour, action.message))
            elif isinstance(action, SetTimer):
                self.brokers[broker].ticking = True
            else:
                assert isinstance(action, CancelTimer)
                self.brokers[broker].ticking = False

    def pass_interval(self) -> None:
        """Lets an interval pass at all brokers."""
        self.now += INTERVAL
        for name, broker in self.brokers.items():
            if broker.ticking:
                self.perform(name, broker.exchange.tick())

    def publish(self, broker: BrokerId, count: int, value: int = 0) -> None:
        for _ in range(count):
            if sample := self.brokers[broker].exchange.samples.get("T.1.1"):
                sample.add(Publication({"class": "A", "x": value}))

    def way_to_root(self, broker: BrokerId) -> list[BrokerId]:
        """A broker and those on its way, the root last."""
        parent = self.parents[broker]
        return [broker] if parent is None else [broker, *self.way_to_root(parent)]


def random_network(rng: random.Random) -> Network:
    """Up to ten brokers; B0 is the root."""
    names = [f"B{number}" for number in range(rng.randrange(1, 11))]
    return Network({name: rng.choice(names[:number]) if number else None for number, name in enumerate(names)})
