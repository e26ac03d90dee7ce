"""BrokenError routers, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest import mock

from broker_service.language import Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import Actions, Deliver, Router, RouterContext, Send
from broker_service.routing.registry import PROTOCOLS
from broker_service.routing.tid import TidRouter
from broker_service.routing.tid.messages import decode_publish


class LosesEveryThird(TidRouter):
    """Ignores every third publication that neighbours send."""

    _seen = 0

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        if message.kind is Kind.PUBLISH:
            self._seen += 1
            if self._seen % 3 == 0:
                return []
        return super().receive(neighbour, message)


class ForwardsTwice(TidRouter):
    """Sends publications of its own clients twice."""

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        actions = super().publish(client, message, publication, advertisement)
        return [*actions, *(action for action in actions if isinstance(action, Send))]


class NotifiesTwice(TidRouter):
    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super().receive(neighbour, message)
        return [*actions, *(action for action in actions if isinstance(action, Deliver))]


class IgnoresUnsubscriptions(TidRouter):
    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        return []


class KeepsWithdrawalsToItself(TidRouter):
    """Does not tell its neighbours of unsubscriptions."""

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        super().unsubscribe(client, id)
        return []


class IgnoresUnadvertisements(TidRouter):
    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        return [] if message.kind is Kind.UNADVERTISE else super().receive(neighbour, message)


class NotifiesEverybody(TidRouter):
    """All its subscribers, of whatever comes along."""

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super().receive(neighbour, message)
        everybody = tuple({entry.client: None for entry in self._subscriptions if entry.local})
        return [Deliver(everybody, message) if isinstance(action, Deliver) else action for action in actions]


class MatchesItsOwnOnly(TidRouter):
    """Subscriptions are not bound to trees that are there already."""

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        super().subscribe(client, id, subscription)
        return []


class FloodsPublications(TidRouter):
    """Passes every publication on to all neighbours but the one it came from, on any overlay."""

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super().receive(neighbour, message)
        if message.kind is not Kind.PUBLISH:
            return actions
        onward = Message(message.kind, message.id, message.body, message.header, message.hops + 1)
        return [*actions, *self._trees.broadcast(onward, neighbour)]


class KeepsEveryAdvertisement(TidRouter):
    """Takes later copies of an advertisement for news, and passes them on."""

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        known = message.kind is Kind.ADVERTISE and message.id in self._advertisements
        actions = super().receive(neighbour, message)
        return self._trees.broadcast(message, neighbour) if known else actions


class LosesWhatChangesTrees(TidRouter):
    """A publication that leaves on another tree than it came on is lost."""

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super().receive(neighbour, message)
        if message.kind is not Kind.PUBLISH:
            return actions
        tid = decode_publish(message.header).tid
        return [
            action
            for action in actions
            if not isinstance(action, Send) or decode_publish(action.message.header).tid == tid
        ]


@contextmanager
def in_place_of(protocol: str, router: Callable[[RouterContext[Any]], Router]) -> Iterator[None]:
    """All brokers of a protocol run this router."""
    mutated = {protocol: dataclasses.replace(PROTOCOLS[protocol], router=router)}
    with mock.patch.dict(cast(dict[str, Protocol], PROTOCOLS), mutated):
        yield
