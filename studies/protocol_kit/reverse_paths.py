"""Reverse paths: subscriptions flood the overlay, and publications go back the ways that they came by.

1. A broker that hears of a subscription first passes it on, and notes where it came from: its next hop.
2. A withdrawal goes to every broker. Withdrawn names are kept, because a slower copy may still come.
3. A publication is sent to the next hops of all subscriptions that match it, and handled once at each broker.
4. A broker that was restarted, as `B4.2`, has lost its clients: its neighbours withdraw all names of `B4.1`.
5. A neighbour that comes up may have missed anything, so it is told of all subscriptions and all withdrawals.
"""

from __future__ import annotations

import msgspec

from brokerlab.protocol import (
    Actions,
    BrokerId,
    ClientId,
    Deliver,
    DispatchingRouter,
    Kind,
    Message,
    Protocol,
    ProtocolOptions,
    Publication,
    RouterContext,
    Send,
    Subscription,
    decode_subscription,
    encode_predicates,
)  # fmt: skip


class ReversePaths(DispatchingRouter):
    def __init__(self, context: RouterContext[ProtocolOptions]) -> None:
        received = {Kind.SUBSCRIBE: self._learn, Kind.UNSUBSCRIBE: self._forget, Kind.PUBLISH: self._route}
        super().__init__(received)
        self._context, self._matching, self._published = context, context.matcher(), 0
        self._clients: dict[str, ClientId] = {}
        self._next_hops: dict[str, tuple[BrokerId | None, Message]] = {}
        self._withdrawn: set[str] = set()
        self._seen: set[bytes] = set()

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._clients[id] = client
        return self._learn(None, Message(Kind.SUBSCRIBE, id, encode_predicates(subscription.predicates)))

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        return self._forget(None, Message(Kind.UNSUBSCRIBE, id))

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        self._published += 1
        number = f"{self._context.broker}.{self._context.incarnation}.{self._published}"
        return self._route(None, msgspec.structs.replace(message, header=number.encode()))

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        lives = [Message(Kind.UNSUBSCRIBE, f"{neighbour}.{life}") for life in range(1, incarnation)]
        former = [action for message in lives for action in self._forget(None, message)]
        known = [Send(neighbour, message) for source, message in self._next_hops.values() if source != neighbour]
        withdrawn = [Send(neighbour, Message(Kind.UNSUBSCRIBE, id)) for id in sorted(self._withdrawn)]
        return [*former, *known, *withdrawn]

    def _learn(self, source: BrokerId | None, message: Message) -> Actions:
        if message.id in self._next_hops or not self._withdrawn.isdisjoint((message.id, _life(message.id))):
            return ()
        self._matching.add(message.id, decode_subscription(message.body))
        self._next_hops[message.id] = (source, message)
        return self._flood(source, message)

    def _forget(self, source: BrokerId | None, message: Message) -> Actions:
        if message.id in self._withdrawn:
            return ()
        self._withdrawn.add(message.id)
        for id in [id for id in self._next_hops if message.id in (id, _life(id))]:
            del self._next_hops[id]
            self._matching.remove(id)
            self._clients.pop(id, None)
        return self._flood(source, message)

    def _flood(self, source: BrokerId | None, message: Message) -> Actions:
        onward = msgspec.structs.replace(message, hops=message.hops + 1)
        return [Send(neighbour, onward) for neighbour in self._context.links if neighbour != source]

    def _route(self, source: BrokerId | None, message: Message) -> Actions:
        if message.header in self._seen:
            return ()
        self._seen.add(message.header)
        matching = list(self._matching.match(message))
        clients = dict.fromkeys(self._clients[id] for id in matching if id in self._clients)
        hops = dict.fromkeys(self._next_hops[id][0] for id in matching)
        onward = msgspec.structs.replace(message, hops=message.hops + 1)
        sends = [Send(hop, onward) for hop in hops if hop is not None and hop != source]
        return [Deliver(tuple(clients), message), *sends]


def _life(id: str) -> str:
    """The broker that gave a name, and its incarnation: `B4.1` of `B4.1.7`."""
    return id.rpartition(".")[0]


PROTOCOL = Protocol(ReversePaths)
