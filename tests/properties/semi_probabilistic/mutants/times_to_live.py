"""Semi-probabilistic routers that count hops wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from broker_service.messages import BrokerId, Message
from broker_service.routing.interface import Action, Actions, Send
from broker_service.routing.semi_probabilistic import router as router_module
from broker_service.routing.semi_probabilistic.messages import EventHeader, encode
from broker_service.routing.semi_probabilistic.subscriptions import Pattern
from tests.properties.semi_probabilistic.mutants.mutant import Context, Mutant


class _HopsOff(Mutant):
    """Has other times-to-live left after a hop."""

    def _forwarded(
        self, message: Message, header: EventHeader, distances: Mapping[BrokerId, int], source: BrokerId | None
    ) -> list[Action]:
        actions: list[Action] = []
        for action in super()._forwarded(message, header, distances, source):
            assert isinstance(action, Send)
            right = self._decode_event(action.message.header)
            left = encode(self.left(header, right, action.message.label))
            actions.append(Send(action.neighbour, msgspec.structs.replace(action.message, header=left)))
        return actions

    @staticmethod
    def left(before: EventHeader, right: EventHeader, label: str) -> EventHeader:
        raise NotImplementedError


class DeterministicHopsAreFree(_HopsOff):
    @staticmethod
    def left(before: EventHeader, right: EventHeader, label: str) -> EventHeader:
        return before if label == router_module.DETERMINISTIC else right


class EveryHopUsesBoth(_HopsOff):
    @staticmethod
    def left(before: EventHeader, right: EventHeader, label: str) -> EventHeader:
        return before.after_deterministic_hop().after_random_hop() if before.ttl is None else right


class OneHopTooFew(_HopsOff):
    @staticmethod
    def left(before: EventHeader, right: EventHeader, label: str) -> EventHeader:
        return msgspec.structs.replace(right, ttl=max(0, right.ttl - 1)) if right.ttl else right


class StopsWhenBothAreUsedUp(Mutant):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._decode_event = _decode  # of any times-to-live

    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        if 0 in (header.deterministic_ttl, header.probabilistic_ttl):
            both = header.deterministic_ttl == header.probabilistic_ttl == 0
            matched = list(matched)
            unlimited = EventHeader(header.publisher, header.number)
            return super()._spread(message, header if both else unlimited, matched, source)
        return super()._spread(message, header, matched, source)


class TheLastHopDoesNotDeliver(Mutant):
    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        return super()._spread(message, header, () if header.spent and source is not None else matched, source)


def _decode(header: bytes) -> EventHeader:
    return msgspec.msgpack.decode(header, type=EventHeader)
