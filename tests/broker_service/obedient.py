"""A routing protocol that does as a test says, for brokers without I/O and for brokers with it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, cast
from unittest import mock

from broker_service.language import Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import Actions, FollowsNeighbours, RecallsMessages, Router, RouterContext
from broker_service.routing.options import ProtocolOptions
from broker_service.routing.registry import PROTOCOLS

OBEDIENT = "obedient"
"""The protocol's name."""


class ObedientOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    neighbours_change: ClassVar[bool] = True


class ObedientRouter(Router, FollowsNeighbours, RecallsMessages):
    """Notes its calls and answers them with actions that the test provides, by default none."""

    def __init__(self, context: RouterContext[ObedientOptions]) -> None:
        self.context = context
        self.calls: list[tuple[str, object]] = []
        """Name and argument of each call: the neighbour, or the id of the message."""
        self.messages: list[Message] = []
        """Messages received or returned."""
        self.answers: dict[str, Callable[[], Actions]] = {}
        """Makers of actions by the name of a call."""

    def _called(self, name: str, argument: object) -> Actions:
        self.calls.append((name, argument))
        return self.answers.get(name, tuple)()

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        return self._called("subscribe", client)

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        return self._called("unsubscribe", client)

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return self._called("publish", message.id)

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        self.messages.append(message)
        return self._called("receive", message.id)

    def neighbour_added(self, neighbour: BrokerId) -> Actions:
        return self._called("neighbour_added", neighbour)

    def neighbour_removed(self, neighbour: BrokerId) -> Actions:
        return self._called("neighbour_removed", neighbour)

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        return self._called("link_up", neighbour)

    def link_down(self, neighbour: BrokerId) -> Actions:
        return self._called("link_down", neighbour)

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        self.messages += messages
        return self._called("returned", neighbour)


@contextlib.contextmanager
def registered() -> Iterator[dict[BrokerId, ObedientRouter]]:
    """Makes the protocol known. Gives the latest router of each broker."""
    routers: dict[BrokerId, ObedientRouter] = {}

    def make(context: RouterContext[ObedientOptions]) -> ObedientRouter:
        router = routers[context.broker] = ObedientRouter(context)
        return router

    protocol = Protocol(make, ObedientOptions)
    with mock.patch.dict(cast(dict[str, Protocol], PROTOCOLS), {OBEDIENT: protocol}):
        yield routers
