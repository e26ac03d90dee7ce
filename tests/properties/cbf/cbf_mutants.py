"""Routers of content-based forwarding, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import msgspec

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.cbf import CbfRouter
from broker_service.routing.cbf.sums import Change, CoveringSum, Entry
from broker_service.routing.cbf.table import Found
from broker_service.routing.interface import Actions, Deliver, Send, SetTimer
from tests.properties.mutants import in_place_of


class ForwardsBack(CbfRouter):
    """Does not leave out the neighbour that a publication came from, nor notices that it has been here."""

    def _forward(self, message: Message, found: Found, source: BrokerId | None) -> Actions:
        return super()._forward(message, found, None)


class ForwardsEverywhere(CbfRouter):
    """Sends publications to all neighbours in the tree but the one that they came from."""

    def _forward(self, message: Message, found: Found, source: BrokerId | None) -> Actions:
        delivered = [action for action in super()._forward(message, found, source) if isinstance(action, Deliver)]
        onward = msgspec.structs.replace(message, hops=message.hops + 1)
        return [*delivered, *(Send(neighbour, onward) for neighbour in self._sums if neighbour != source)]


class WithdrawsForAll(CbfRouter):
    """Withdraws a subscription's content while others with the same content stand: it aggregates without counting."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._told.withdraw

        def withdraw(body: bytes, direction: BrokerId | None, hops: int) -> Actions:
            entry = self._table.entry(body)
            actions = original(body, direction, hops)
            if not self._table.directions(body):
                return actions
            withdrawn = [neighbour for neighbour, told in self._sums.items() if body in told]
            return [*actions, *(Send(to, Message(Kind.UNSUBSCRIBE, entry.id, body, hops=1)) for to in withdrawn)]

        self._told.withdraw = withdraw  # type: ignore[method-assign]


class KeepsWithdrawalsToItself(CbfRouter):
    """Tells no neighbour that a subscription is withdrawn."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._told.withdraw

        def withdraw(body: bytes, direction: BrokerId | None, hops: int) -> Actions:
            original(body, direction, hops)
            return ()

        self._told.withdraw = withdraw  # type: ignore[method-assign]


class TellsRestartedNothing(CbfRouter):
    """Tells a neighbour that was restarted only what changes from then on."""

    def _update_restarted(self, neighbour: BrokerId) -> Actions:
        return [action for action in super()._update_restarted(neighbour) if isinstance(action, SetTimer)]


class TrustsTheRestarted(CbfRouter):
    """Keeps what a neighbour told before it was restarted, though it does not tell that again."""

    def _update_restarted(self, neighbour: BrokerId) -> Actions:
        return [action for action in super()._update_restarted(neighbour) if not isinstance(action, SetTimer)]


class ForgetsTheCovered(CoveringSum):
    """Does not announce what a withdrawn subscription covered."""

    def remove(self, body: bytes) -> list[Change]:
        return [change for change in super().remove(body) if change.kind is Kind.UNSUBSCRIBE]


class IgnoresLateAdvertisements(CbfRouter):
    """Sends subscriptions towards the advertisements that it knows when they are made, and to no later ones."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._advertising._towards = lambda _: []  # type: ignore[method-assign]


class CoversTheWrongWay(CoveringSum):
    """Leaves out the general subscription and keeps the special one."""

    def _announce(self, entry: Entry) -> list[Change]:
        changes = super()._announce(entry)
        return [change for change in changes if change.kind is Kind.UNSUBSCRIBE] or changes


@contextmanager
def in_place_of_the_right(variant: type[CbfRouter] | type[CoveringSum]) -> Iterator[None]:
    """All brokers run this router, or leave out covered subscriptions in this way."""
    if issubclass(variant, CbfRouter):
        with in_place_of("cbf", variant):
            yield
    else:
        with mock.patch.dict("broker_service.routing.cbf.router._SUMS", {"covering": variant}):
            yield
