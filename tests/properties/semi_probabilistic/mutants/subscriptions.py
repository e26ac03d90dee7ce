"""Semi-probabilistic routers that propagate subscriptions wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

from broker_service.messages import BrokerId, Message
from broker_service.routing.interface import Actions, Recall, Send
from broker_service.routing.semi_probabilistic import router as router_module
from tests.properties.semi_probabilistic.mutants.mutant import Context, Mutant


class KeepsRoutesOfDeadLinks(Mutant):
    def link_down(self, neighbour: BrokerId) -> Actions:
        self._candidates.clear()
        self._table._announced.pop(neighbour, None)
        return [Recall(neighbour)]


class AnnouncesNothingToNewLinks(Mutant):
    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        super().link_up(neighbour, incarnation)
        return []


class AnnouncesOnlyItsOwnToNewLinks(Mutant):
    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        actions = super().link_up(neighbour, incarnation)
        return [action for action in actions if not isinstance(action, Send) or action.message.hops == 1]


class LeavesSubscriptionsInTheQueue(Mutant):
    """Sends, over a link that is up again, what was to be sent before it failed."""

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return [Send(neighbour, message) for message in messages]


class SendsLaterWhatAVanishedLinkHeld(Mutant):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._held: dict[BrokerId, list[Message]] = {}

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        self._held.setdefault(neighbour, []).extend(messages)
        return []

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        held = self._held.pop(neighbour, [])
        return [*super().link_up(neighbour, incarnation), *(Send(neighbour, message) for message in held)]


class WithdrawsAtOneHopOnly(Mutant):
    def _receive_unsubscription(self, neighbour: BrokerId, message: Message) -> Actions:
        super()._receive_unsubscription(neighbour, message)
        return []


class PassesOnNoLossOfALink(Mutant):
    def link_down(self, neighbour: BrokerId) -> Actions:
        return [action for action in super().link_down(neighbour) if isinstance(action, Recall)]


class _HorizonOff(Mutant):
    by: int

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._table._horizon += self.by

    def _receive_subscription(self, neighbour: BrokerId, message: Message) -> Actions:
        with mock.patch.object(router_module, "decode_distance", lambda header, horizon: header[0]):
            return super()._receive_subscription(neighbour, message)


class HorizonOneShort(_HorizonOff):
    by = -1


class HorizonOneLong(_HorizonOff):
    by = 1


class TakesItsOwnSubscriptionsForRoutes(Mutant):
    def _ignores(self, neighbour: BrokerId, id: str) -> bool:
        return False
