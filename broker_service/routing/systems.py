"""Deployed systems whose own servers route in place of brokerlab's brokers: what a scenario may state of them.

Nothing routes here. An adapter beside each server speaks the system's client protocol (`emulation.adapters`), so the
brokers are of level 0 of the contract of a broker. The promises are those of the systems' documentation, for the way in
which the adapter configures them:

1. Mosquitto: bridges pass everything on at the quality of service that the scenario chooses, with sessions that outlast
   broken connections. Nothing is kept on disk, so that a server which ends takes its queues with it.
2. Zenoh: what is on its way over a link that breaks, or at a router that ends, is lost, because routers keep nothing.
3. ActiveMQ: networks of brokers add no durability to subscriptions that have none, such as these: in the event of a
   failure, messages in flight can be lost ("Networks of Brokers", section "Reliability").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NoReturn, cast

import msgspec

from broker_service.language.model import CLASS
from broker_service.messages import BrokerId
from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import RouterContext
from broker_service.routing.options import Preparation, ProtocolOptions
from record.faults import FaultKind
from record.promises import QUEUES_LOST, Loss, Promises

MOSQUITTO: Final = "mosquitto"
ZENOH: Final = "zenoh"
ACTIVEMQ: Final = "activemq"
_BREAKS: Final = (
    FaultKind.PAUSE,
    FaultKind.THROTTLE,
    FaultKind.LINK_DOWN,
    FaultKind.DEGRADE,
    FaultKind.CORRUPT,
)
"""Faults that cost what is in flight where nothing is kept beyond a connection."""

_IN_FLIGHT_LOST: Final = Promises(survives={**QUEUES_LOST, **dict.fromkeys(map(str, _BREAKS), Loss.IN_FLIGHT)})
Topics = Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=8)]


class SystemOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options that all deployed systems have in common."""

    trees_only: ClassVar[str] = ""
    """The reason why a system runs on trees alone; empty for one that runs on any overlay."""
    processes: ClassVar[int] = 0
    """Processes that a broker of the system may have at least, threads included, if the scenario states nothing."""

    topics: Topics = (CLASS,)
    """Attributes whose values make up the topic of a publication, in this order: as much of a subscription as the
    system's own filters can cover, if it asks for equality. The rest is filtered at the client, and counted."""

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """For each broker of a tree, the links between it and every broker: a publication has no other way there."""
        neighbours: dict[BrokerId, list[BrokerId]] = {broker: [] for broker in preparation.brokers}
        for a, b, *_ in preparation.links:
            neighbours[a].append(b)
            neighbours[b].append(a)
        if len(preparation.links) != len(neighbours) - 1:
            return {}
        return {broker: msgspec.msgpack.encode(_links_to_each(broker, neighbours)) for broker in neighbours}


class MosquittoOptions(SystemOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields beside `system: mosquitto`."""

    trees_only = "messages would go round in circles for ever, because its bridges do not recognise what came before"
    reconciles_within = 12.0
    """A bridge notices a silent neighbour after one and a half of its shortest keep-alive intervals, 5 s, and dials
    again a second later at the earliest."""

    quality: Literal[0, 1, 2] = 1
    """Quality of service of MQTT, of clients and bridges: 0 at most once, 1 at least once, 2 once."""

    @property
    def promises(self) -> Promises:
        if self.quality:
            return Promises()
        breaks: tuple[str, ...] = (FaultKind.PAUSE, FaultKind.LINK_DOWN, FaultKind.DEGRADE)
        return Promises(survives={**QUEUES_LOST, **dict.fromkeys(breaks, Loss.IN_FLIGHT)})


class ZenohOptions(SystemOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields beside `system: zenoh`."""

    reconciles_within = 5.0
    """Routers notice a silent neighbour after three heartbeats, and tell each other of links as they come and go."""

    @property
    def promises(self) -> Promises:
        return _IN_FLIGHT_LOST


class ActivemqOptions(SystemOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields beside `system: activemq`."""

    trees_only = "its documentation keeps subscriptions to one link in a mesh, and they would reach no broker beyond"
    processes = 256
    reconciles_within = 10.0
    """A Java machine takes seconds to start where others do at once. Servers notice a silent neighbour after three
    heartbeats."""

    conduit: bool = True
    """True: a server tells its neighbours that it has consumers of a topic, and not by which selectors (conduit
    subscriptions, the server's own default). False: it tells of each consumer with its selector, and gets a copy of a
    publication for each that selects it."""

    @property
    def promises(self) -> Promises:
        return _IN_FLIGHT_LOST


def links_to_each(prepared: bytes) -> Mapping[BrokerId, int]:
    """The result of `SystemOptions.prepare` for a broker; nothing where the overlay is no tree."""
    return msgspec.msgpack.decode(prepared, type=dict[str, int]) if prepared else {}


def options_of_system(name: str) -> type[SystemOptions]:
    """The options of the system of this name."""
    return cast(type[SystemOptions], SYSTEMS[name].options)


def is_system(reference: str) -> bool:
    """True for the name of a deployed system."""
    return reference in SYSTEMS


def _links_to_each(start: BrokerId, neighbours: Mapping[BrokerId, list[BrokerId]]) -> dict[BrokerId, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        broker = waiting.popleft()
        for neighbour in neighbours[broker]:
            if neighbour not in found:
                found[neighbour] = found[broker] + 1
                waiting.append(neighbour)
    return found


def _no_router(_context: RouterContext[Any]) -> NoReturn:
    raise ValueError("a deployed system routes by servers of its own; this broker has no router for it")


SYSTEMS: Mapping[str, Protocol] = {
    MOSQUITTO: Protocol(_no_router, MosquittoOptions),
    ZENOH: Protocol(_no_router, ZenohOptions),
    ACTIVEMQ: Protocol(_no_router, ActivemqOptions),
}
"""The systems by the names that scenarios use."""
