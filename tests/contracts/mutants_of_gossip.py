"""Gossip, broken in one way each. `README.md` names what catches each of them."""

from __future__ import annotations

from collections.abc import Sequence

from broker_service.language import Subscription
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.interface import Actions, Deliver, FollowsNeighbours, RouterContext
from tests.contracts.routers.gossip import GossipOptions, GossipRouter


class NotifiesOfEveryCopy(GossipRouter):
    """Ends a publication that it has seen only after notifying its clients again."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        return super()._receive_publication(neighbour, message) or [Deliver(self._interested(message), message)]


class NotifiesOneClient(GossipRouter):
    """Notifies only the first of its clients with a matching subscription."""

    def _interested(self, message: Message) -> tuple[ClientId, ...]:
        return super()._interested(message)[:1]


class NotifiesAllClients(GossipRouter):
    """Notifies all of its subscribers of whatever comes."""

    def __init__(self, context: RouterContext[GossipOptions]) -> None:
        super().__init__(context)
        self._all: dict[ClientId, None] = {}

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._all[client] = None
        return super().subscribe(client, id, subscription)

    def _interested(self, message: Message) -> tuple[ClientId, ...]:
        super()._interested(message)
        return tuple(self._all)


class KeepsVanishedNeighbours(GossipRouter, FollowsNeighbours):
    """Sends to every broker that has ever been its neighbour."""

    def __init__(self, context: RouterContext[GossipOptions]) -> None:
        super().__init__(context)
        self._ever = dict.fromkeys(context.links)

    def neighbour_added(self, neighbour: BrokerId) -> Actions:
        self._ever[neighbour] = None
        return ()

    def neighbour_removed(self, neighbour: BrokerId) -> Actions:
        return ()

    def _drawn(self, source: BrokerId | None) -> Sequence[BrokerId]:
        return [neighbour for neighbour in self._ever if neighbour != source]


class IgnoresNewNeighbours(GossipRouter):
    """Sends to neighbours that it started with alone."""

    def __init__(self, context: RouterContext[GossipOptions]) -> None:
        super().__init__(context)
        self._first = frozenset(context.links)

    def _drawn(self, source: BrokerId | None) -> Sequence[BrokerId]:
        return [neighbour for neighbour in super()._drawn(source) if neighbour in self._first]


class RemembersEverything(GossipRouter):
    """Forgets no publication."""

    def _remember(self, message: Message) -> None:
        self._seen[message.header] = None


class SendsToAllNeighbours(GossipRouter):
    """Floods."""

    def _drawn(self, source: BrokerId | None) -> Sequence[BrokerId]:
        return [neighbour for neighbour, link in self._context.links.items() if link.up and neighbour != source]
