"""Flooding, to compare with: every publication goes over every link, and is matched at every broker."""

from __future__ import annotations

import msgspec

from brokerlab.protocol import (
    Actions,
    BrokerId,
    ClientId,
    Deliver,
    Message,
    Protocol,
    ProtocolOptions,
    Publication,
    Router,
    RouterContext,
    Send,
    Subscription,
)  # fmt: skip


class Flooding(Router):
    def __init__(self, context: RouterContext[ProtocolOptions]) -> None:
        self._context, self._matching, self._published = context, context.matcher(), 0
        self._seen: set[bytes] = set()

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._matching.add((client, id), subscription)
        return ()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        self._matching.remove((client, id))
        return ()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        self._published += 1
        number = f"{self._context.broker}.{self._context.incarnation}.{self._published}"
        return self._spread(None, msgspec.structs.replace(message, header=number.encode()))

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        return () if message.header in self._seen else self._spread(neighbour, message)

    def _spread(self, source: BrokerId | None, message: Message) -> Actions:
        self._seen.add(message.header)
        clients = dict.fromkeys(client for client, _ in self._matching.match(message))
        onward = msgspec.structs.replace(message, hops=message.hops + 1)
        sends = [Send(neighbour, onward) for neighbour in self._context.links if neighbour != source]
        return [Deliver(tuple(clients), message), *sends]


PROTOCOL = Protocol(Flooding)
