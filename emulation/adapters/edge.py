"""The edge of a deployed system at one broker: clients of the contract on one side, the system's client on the other.

Sessions, content and matching are those of brokerlab's own broker, which here has no links: the system carries
publications to all brokers, this one included, and they are matched where they arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from broker_service.core.broker import Broker
from broker_service.language import Publication, Subscription
from broker_service.language.model import CLASS
from broker_service.messages import UNSTATED_HOPS, BrokerId, ClientId, Kind, Message
from broker_service.routing.interface import Deliver, MalformedMessageError, Router, RouterContext
from broker_service.routing.interface.every_action import Actions
from broker_service.routing.systems import SystemOptions, links_to_each
from broker_service.tracing.trace import FileTrace
from emulation.adapters.system import Envelope, System
from emulation.adapters.topics import Filter
from record.contract import CAME_AGAIN, CANARY, NOT_WANTED
from record.log import Event, TraceRecord

_REMEMBERED: Final = 1 << 16
"""Publications by which further copies are recognised; older ones are forgotten."""
_LOGGED: Final = frozenset({Event.STARTED, Event.STOPPED, Event.DROPPED})
_SYSTEM: Final = "system"
"""The neighbour from which everything comes: the system as a whole."""


class EdgeRouter(Router):
    """Hands on what clients of a broker publish, and finds those that want what comes. It routes nothing."""

    def __init__(self, context: RouterContext[SystemOptions], system: System) -> None:
        self._system = system
        self._broker, self._incarnation = context.broker, context.incarnation
        self._links = links_to_each(context.prepared)
        self._wanted = context.matcher()
        self._clients: dict[str, ClientId] = {}
        self._filters: dict[str, Filter] = {}
        self._watched: Counter[Filter] = Counter()
        self._published = 0

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        chosen = self._filters[id] = self._system.cover(subscription)
        self._clients[id] = client
        self._wanted.add(id, subscription)
        self._watched[chosen] += 1
        if self._watched[chosen] == 1:
            self._system.watch(chosen)
        return ()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        chosen = self._filters.pop(id)
        del self._clients[id]
        self._wanted.remove(id)
        self._watched[chosen] -= 1
        if not self._watched[chosen]:
            del self._watched[chosen]
            self._system.unwatch(chosen)
        return ()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        self._published += 1
        made = Envelope(self._broker, self._incarnation, self._published, message.id, message.published, message.body)
        self._system.publish(publication, msgspec.msgpack.encode(made))
        return ()

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        clients = tuple(dict.fromkeys(self._clients[id] for id in self._wanted.match(message)))
        return (Deliver(clients, message),) if clients else ()

    def links_from(self, broker: BrokerId) -> int:
        """Links that a publication of this broker has crossed, where it has only one way."""
        return self._links.get(broker, UNSTATED_HOPS)


class EdgeBroker(Broker):
    """A broker whose publications travel through a system. Its router is an `EdgeRouter`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._known: dict[tuple[str, int, int], set[Filter | None]] = {}
        """The filters that have let each publication through."""

    def arrive(self, payload: bytes, chosen: Filter | None) -> None:
        """Takes a publication that the system has brought, and that it may bring once for each filter.

        What no client wants, and what comes again, is dropped and counted.
        """
        try:
            came = msgspec.msgpack.decode(payload, type=Envelope)
        except msgspec.MsgspecError as error:
            raise MalformedMessageError(f"the system has brought what nobody has published: {error}") from None
        router: Any = self._router
        message = Message(
            Kind.PUBLISH, came.id, came.body, b"", router.links_from(came.broker), published=came.published
        )
        known = self._known
        key = came.broker, came.incarnation, came.number
        if key in known:
            if chosen in known[key]:
                self._drop(message, CAME_AGAIN)
            known[key].add(chosen)
            return
        known[key] = {chosen}
        if len(known) > _REMEMBERED:
            del known[next(iter(known))]
        actions: Sequence[Any] = router.receive(_SYSTEM, message)
        if not actions:
            self._drop(message, NOT_WANTED)
        self._actions.perform(actions)

    def _drop(self, message: Message, reason: str) -> None:
        if self._surroundings.comparisons.decode(message.body).attributes.get(CLASS) != CANARY:
            self._surroundings.report_dropped(message, reason)


class EdgeTrace(FileTrace):
    """A log of what the adapter drops: all else that its broker would log says nothing about the system."""

    def write(self, record: TraceRecord) -> None:
        if record.event in _LOGGED:
            super().write(record)
