"""Gossip: a broker passes each publication on to a few neighbours at random, whichever it has at that moment.

Rules:

1. Subscriptions stay at their client's broker.
2. A publication that a broker has not seen is delivered to the clients here whose subscriptions match, and sent to
   `fanout` neighbours, drawn at random from those whose link is up, but not to the one it came from. One that it has
   seen ends here.
3. A broker remembers the identifiers of the `remembered` latest publications that it has seen.

Neighbours may change at any time. Delivery is best effort: a broker that no neighbour draws misses the publication.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from broker_service.language import Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import DispatchingRouter
from broker_service.routing.interface import Actions, Deliver, Matcher, RouterContext, Send
from broker_service.routing.options import ProtocolOptions
from record.promises import Completeness, Promises


class GossipOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fanout: int = 3
    """Neighbours that a broker sends each publication to, at most."""
    remembered: int = 10_000
    """Publications that a broker remembers, to recognise them when they come again."""

    neighbours_change: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.fanout < 1 or self.remembered < 1:
            raise ValueError("fanout and remembered must be more than 0")

    @property
    def promises(self) -> Promises:
        return Promises(delivery=Completeness.BEST_EFFORT)


class GossipRouter(DispatchingRouter):
    """The router of one broker that gossips."""

    def __init__(self, context: RouterContext[GossipOptions]) -> None:
        super().__init__({Kind.PUBLISH: self._receive_publication})
        self._context = context
        self._subscriptions: Matcher[tuple[ClientId, str]] = context.matcher()
        self._published = 0
        self._seen: dict[bytes, None] = {}
        """Headers of publications: their broker, its incarnation and a number."""

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._subscriptions.add((client, id), subscription)
        return ()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        self._subscriptions.remove((client, id))
        return ()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        self._published += 1
        name = f"{self._context.broker}.{self._context.incarnation}.{self._published}"
        return self._spread(msgspec.structs.replace(message, header=name.encode()), None)

    @property
    def remembered(self) -> int:
        """Publications that the broker remembers."""
        return len(self._seen)

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        return () if message.header in self._seen else self._spread(message, neighbour)

    def _spread(self, message: Message, source: BrokerId | None) -> Actions:
        self._remember(message)
        onward = msgspec.structs.replace(message, hops=message.hops + 1)
        sends = [Send(neighbour, onward) for neighbour in self._drawn(source)]
        return [Deliver(self._interested(message), message), *sends]

    def _remember(self, message: Message) -> None:
        self._seen[message.header] = None
        if len(self._seen) > self._context.options.remembered:
            del self._seen[next(iter(self._seen))]

    def _interested(self, message: Message) -> tuple[ClientId, ...]:
        return tuple(dict.fromkeys(client for client, _ in self._subscriptions.match(message)))

    def _drawn(self, source: BrokerId | None) -> Sequence[BrokerId]:
        """Neighbours to send a publication to."""
        present = [neighbour for neighbour, link in self._context.links.items() if link.up and neighbour != source]
        fanout = self._context.options.fanout
        return present if len(present) <= fanout else self._context.random.sample(present, fanout)
