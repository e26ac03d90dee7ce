"""Confirmation that the broker at the root of a tree has bound the subscriptions that a broker has sent up the tree.

A question follows the tree behind the subscriptions, over the same links, which keep their order. The answer goes back
on the way that the question took. A question is lost where a broker on its way fails or loses the tree, and is asked
again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

import msgspec

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.bounds import BrokerPath, Name
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import MalformedMessageError, Send
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import SubscriptionRoutingTable


class Join(msgspec.Struct, frozen=True, array_like=True):
    """A join point of a unit, after a move in an epoch."""

    unit: Name
    epoch: int
    move: int


class BindingAsked(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A join point asks whether its subscriptions are bound to a tree."""

    join: Join
    tid: Name
    path: BrokerPath
    """The brokers that the question came through, the one that asks first, the sender last."""


class BindingConfirmed(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The subscriptions of a join point are bound to a tree."""

    join: Join
    tid: Name
    path: BrokerPath
    """The brokers that the answer is yet to come through, the one that asked first, the receiver last."""


class Confirmations:
    """Questions and answers at one broker. The router owns the advertisements."""

    def __init__(
        self, broker: BrokerId, neighbours: Container[BrokerId], advertisements: SubscriptionRoutingTable
    ) -> None:
        self._broker = broker
        self._neighbours = neighbours
        self._advertisements = advertisements

    def is_certain(self, tid: TreeId) -> bool:
        """True for a tree that is rooted here, which needs no question."""
        return self._advertisements.is_local(tid)

    def ask(self, join: Join, trees: Iterable[TreeId]) -> list[Send]:
        """Asks about trees that are rooted elsewhere."""
        return [send for tid in trees for send in self._ask_on(BindingAsked(join, tid, (self._broker,)))]

    def receive_question(self, neighbour: BrokerId, asked: BindingAsked) -> list[Send]:
        """Passes a question on, or answers it at the root. One about a tree that is not known ends here."""
        if not asked.path or asked.path[-1] != neighbour:
            raise MalformedMessageError(f"the path of a question from {neighbour} is {asked.path}")
        if self._broker in asked.path:
            return []
        if self._advertisements.is_local(asked.tid):
            return [_to(neighbour, asked.tid, BindingConfirmed(asked.join, asked.tid, asked.path))]
        return self._ask_on(msgspec.structs.replace(asked, path=(*asked.path, self._broker)))

    def pass_on(self, confirmed: BindingConfirmed) -> list[Send]:
        """Passes an answer on to the broker that asked; nothing is left to do where that is this one."""
        *before, here = confirmed.path or ("",)
        if here != self._broker or (before and before[-1] not in self._neighbours):
            raise MalformedMessageError(f"the way of an answer is {confirmed.path}")
        if not before:
            return []
        return [_to(before[-1], confirmed.tid, msgspec.structs.replace(confirmed, path=tuple(before)))]

    def _ask_on(self, asked: BindingAsked) -> list[Send]:
        next_hop = self._advertisements.last_hop(asked.tid)
        return [] if next_hop is None else [_to(next_hop, asked.tid, asked)]


def _to(neighbour: BrokerId, tid: TreeId, message: BindingAsked | BindingConfirmed) -> Send:
    return Send(neighbour, Message(Kind.CONTROL, tid, b"", encode_header(message)), label="confirmation")
