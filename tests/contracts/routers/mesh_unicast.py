"""Mesh unicast: in a full mesh, a publication travels straight to the brokers whose clients it matches.

Rules:

1. A broker announces the subscriptions of its clients, and their ends, to all others. A neighbour whose link comes up
   with a new incarnation is sent all of them, and its own former ones are forgotten.
2. The broker of the publisher matches a publication against all announced subscriptions and sends one copy to each
   broker with a matching one. A broker that receives its copy notifies its own clients.
3. When a link goes down, its broker takes back what waits on it or is in flight. A publication goes to its destination
   by way of another broker instead, once: where it comes back from there, too, it waits for the link.
4. A publication also takes a detour while a link is congested: more messages wait for it than left in the last second.
   The detour leads over the broker with the shortest round trip among those whose links work and are not congested.
5. A copy that was in flight may have arrived before it was sent by another way. A broker recognises publications that
   it has had by their destination's copy, and ignores them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from broker_service.language import Publication, Subscription
from broker_service.language.content import encode_predicates
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import DispatchingRouter, decode_subscription, encode_header, header_decoder
from broker_service.routing.interface import (
    Action,
    Actions,
    Deliver,
    Matcher,
    Recall,
    RecallsMessages,
    RouterContext,
    Send,
)
from broker_service.routing.options import Preparation, ProtocolOptions

_INTERVAL = 1.0
"""Seconds over which messages that leave are counted."""


class MeshUnicastOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    remembered: int = 10_000
    """Publications that a broker remembers, to recognise them when they come again."""

    def __post_init__(self) -> None:
        if self.remembered < 1:
            raise ValueError("remembered must be more than 0")

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """Prepares nothing, and refuses an overlay that is not a full mesh."""
        count = len(preparation.brokers)
        if len(preparation.links) < count * (count - 1) // 2:
            raise ValueError("it needs a link between any two brokers; use `kind: full`")
        return {}


class Route(msgspec.Struct, frozen=True, array_like=True):
    """Header of a publication."""

    copy: str
    """Identifies the publication: its broker, that broker's incarnation, a number."""
    destination: BrokerId
    detoured: bool = False
    """True once the copy travels, or has travelled, by way of another broker."""


_decode_route = header_decoder(Route)


class MeshUnicastRouter(DispatchingRouter, RecallsMessages):
    """The router of one broker of the mesh."""

    def __init__(self, context: RouterContext[MeshUnicastOptions]) -> None:
        super().__init__(
            {
                Kind.SUBSCRIBE: self._receive_subscription,
                Kind.UNSUBSCRIBE: self._receive_unsubscription,
                Kind.PUBLISH: self._receive_publication,
            }
        )
        self._context = context
        self._clients: dict[str, tuple[ClientId, Subscription]] = {}
        """Subscriptions of clients here, by their ids."""
        self._own: Matcher[tuple[ClientId, str]] = context.matcher()
        self._announced: defaultdict[BrokerId, set[str]] = defaultdict(set)
        """Ids of subscriptions of other brokers' clients."""
        self._others: Matcher[tuple[BrokerId, str]] = context.matcher()
        self._incarnations: dict[BrokerId, int] = {}
        self._numbers = 0
        self._seen: dict[str, None] = {}

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._clients[id] = client, subscription
        self._own.add((client, id), subscription)
        return [Send(neighbour, _announcement(id, subscription)) for neighbour in self._context.links]

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        del self._clients[id]
        self._own.remove((client, id))
        return [Send(neighbour, Message(Kind.UNSUBSCRIBE, id, hops=1)) for neighbour in self._context.links]

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        self._numbers += 1
        copy = f"{self._context.broker}.{self._context.incarnation}.{self._numbers}"
        onward = msgspec.structs.replace(message, hops=1)
        sends = [self._send(onward, Route(copy, destination)) for destination in self._destinations(message)]
        return [self._notification(message), *sends]

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        if self._incarnations.get(neighbour) == incarnation:
            return ()
        self._incarnations[neighbour] = incarnation
        self._forget(neighbour)
        return [Send(neighbour, _announcement(id, subscription)) for id, (_, subscription) in self._clients.items()]

    def link_down(self, neighbour: BrokerId) -> Actions:
        return [Recall(neighbour)]

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return [self._send_again(neighbour, message) for message in messages]

    def tables(self) -> Mapping[str, object]:
        return {"announced": {broker: sorted(ids) for broker, ids in sorted(self._announced.items()) if ids}}

    # Subscriptions of other brokers

    def _receive_subscription(self, neighbour: BrokerId, message: Message) -> Actions:
        subscription = decode_subscription(message.body)
        if message.id not in self._announced[neighbour]:
            self._announced[neighbour].add(message.id)
            self._others.add((neighbour, message.id), subscription)
        return ()

    def _receive_unsubscription(self, neighbour: BrokerId, message: Message) -> Actions:
        if message.id in self._announced[neighbour]:
            self._announced[neighbour].remove(message.id)
            self._others.remove((neighbour, message.id))
        return ()

    def _forget(self, neighbour: BrokerId) -> None:
        for id in self._announced.pop(neighbour, ()):
            self._others.remove((neighbour, id))

    # Publications

    def _destinations(self, message: Message) -> Sequence[BrokerId]:
        return list(dict.fromkeys(broker for broker, _ in self._others.match(message)))

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        route = _decode_route(message.header)
        if route.destination != self._context.broker:
            return [self._relay(message, route)]
        if route.copy in self._seen:
            return ()
        self._seen[route.copy] = None
        if len(self._seen) > self._context.options.remembered:
            del self._seen[next(iter(self._seen))]
        return [self._notification(message)]

    def _relay(self, message: Message, route: Route) -> Action:
        return self._put(route.destination, msgspec.structs.replace(message, hops=message.hops + 1), route)

    def _notification(self, message: Message) -> Action:
        return Deliver(tuple(dict.fromkeys(client for client, _ in self._own.match(message))), message)

    def _send(self, message: Message, route: Route) -> Action:
        """Sends a copy straight to its destination; while that link is down or congested, by way of another broker."""
        destination = route.destination
        ways = [broker for broker in self._context.links if broker != destination and self._is_free(broker)]
        if route.detoured or self._is_free(destination) or not ways:
            return self._put(destination, message, route)
        return self._put(min(ways, key=self._distance), message, msgspec.structs.replace(route, detoured=True))

    def _is_free(self, neighbour: BrokerId) -> bool:
        link = self._context.links[neighbour]
        return link.up and not 0 < link.flow(_INTERVAL).left < link.queue_length

    def _distance(self, neighbour: BrokerId) -> float:
        round_trip = self._context.links[neighbour].round_trip
        return math.inf if round_trip is None else round_trip

    def _send_again(self, neighbour: BrokerId, message: Message) -> Action:
        """Sends what a dead link gave back: a publication by another way, anything else when the link is up."""
        if message.kind is not Kind.PUBLISH:
            return Send(neighbour, message)
        return self._send(message, _decode_route(message.header))

    def _put(self, neighbour: BrokerId, message: Message, route: Route) -> Action:
        return Send(neighbour, msgspec.structs.replace(message, header=encode_header(route)))


def _announcement(id: str, subscription: Subscription) -> Message:
    return Message(Kind.SUBSCRIBE, id, encode_predicates(subscription.predicates), hops=1)
