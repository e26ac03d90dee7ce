"""Dispatch of neighbours' messages by their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.interface import Actions, MalformedMessageError, Router

Receiver = Callable[[BrokerId, Message], Actions]


class DispatchingRouter(Router):
    """A router with one receiver for each kind of message; messages of all other kinds are malformed."""

    def __init__(self, receivers: Mapping[Kind, Receiver]) -> None:
        self._receivers = dict.fromkeys(Kind, _refuse) | dict(receivers)

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        return self._receivers[message.kind](neighbour, message)


def _refuse(neighbour: BrokerId, message: Message) -> Actions:
    raise MalformedMessageError(f"the protocol has no messages of kind {message.kind.word}")
