"""Semi-probabilistic routers, each wrong in one way, to see that the cases notice."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from unittest import mock

import msgspec

from broker_service.language import Publication
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.interface import Action, Actions, Deliver, Recall, RouterContext, Send
from broker_service.routing.semi_probabilistic import SemiProbabilisticOptions, SemiProbabilisticRouter
from broker_service.routing.semi_probabilistic import choice as choice_module
from broker_service.routing.semi_probabilistic import router as router_module
from broker_service.routing.semi_probabilistic.choice import Choice
from broker_service.routing.semi_probabilistic.messages import EventHeader, decode_event, encode
from broker_service.routing.semi_probabilistic.seen import SeenEvents
from broker_service.routing.semi_probabilistic.subscriptions import Pattern
from tests.properties.mutants import in_place_of

ROUTER = "broker_service.routing.semi_probabilistic.router"
Context = RouterContext[SemiProbabilisticOptions]
Chooser = Callable[[Sequence[BrokerId], Mapping[BrokerId, int], int, int, random.Random], Choice]


class Mutant(SemiProbabilisticRouter):
    """A router that is wrong in one way, and the functions that it uses in place of the right ones."""

    choose: Chooser = staticmethod(choice_module.choose)
    fanout: Callable[[Fraction, int], int] = staticmethod(choice_module.fanout)


# Events


class _NoMemory(SeenEvents):
    def has(self, publisher: str, number: int) -> bool:
        return False


class RemembersNoEvents(Mutant):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._seen = _NoMemory(1.0, context.now)


class NotifiesOnDuplicates(Mutant):
    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        interest = self._table.interest(self._patterns.match(message))
        actions = super()._receive_publication(neighbour, message)
        return [Deliver(interest.clients, message), *(action for action in actions if isinstance(action, Send))]


class KnowsEventsByTheClientsName(Mutant):
    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        return super()._spread(
            message, msgspec.structs.replace(header, publisher=message.id, number=1), matched, source
        )


class NotifiesAllLocalClients(Mutant):
    """All clients of a broker where one is interested."""

    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        every = self._everyone()
        actions = super()._spread(message, header, matched, source)
        return [Deliver(every, message) if isinstance(action, Deliver) else action for action in actions]

    def _everyone(self) -> tuple[ClientId, ...]:
        rows = self._table._rows.values()
        return tuple(dict.fromkeys(row.client for row in rows if row.client is not None))


class NotifiesEveryoneOnTheWay(NotifiesAllLocalClients):
    """All clients of every broker that has the event."""

    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        actions = super()._spread(message, header, matched, source)
        sends = [action for action in actions if isinstance(action, Send)]
        return [Deliver(self._everyone(), message), *sends]


class NotifiesNobody(Mutant):
    """Passes events on, and does not notify its own clients of those that came over a link."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super()._receive_publication(neighbour, message)
        return [action for action in actions if isinstance(action, Send)]


class StopsMatchingAfterThreeHops(Mutant):
    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        return super()._spread(message, header, matched if message.hops <= 3 else (), source)


# Choice of links


class CeilingInFloatingPoint(Mutant):
    @staticmethod
    def fanout(threshold: Fraction, candidates: int) -> int:
        return math.ceil(float(threshold) * candidates)


class RoundsDown(Mutant):
    @staticmethod
    def fanout(threshold: Fraction, candidates: int) -> int:
        return math.floor(threshold * candidates)


class CountsOneLinkLessAtThePublisher(Mutant):
    def _candidates_from(self, source: BrokerId | None) -> tuple[Sequence[BrokerId], int]:
        candidates, links = super()._candidates_from(source)
        return candidates, links if source is not None else self.fanout(self._threshold, max(0, len(candidates) - 1))


class LimitsAdjacentSubscribers(Mutant):
    @staticmethod
    def choose(
        candidates: Sequence[BrokerId], distances: Mapping[BrokerId, int], fanout: int, most: int, rng: random.Random
    ) -> Choice:
        chosen = choice_module.choose(candidates, distances, fanout, most, rng)
        return Choice(chosen.deterministic[:fanout], chosen.random)


class AddsRandomLinks(Mutant):
    """Draws as many random links as the threshold gives, whatever subscribers there are."""

    @staticmethod
    def choose(
        candidates: Sequence[BrokerId], distances: Mapping[BrokerId, int], fanout: int, most: int, rng: random.Random
    ) -> Choice:
        chosen = choice_module.choose(candidates, distances, fanout, most, rng)
        others = [candidate for candidate in candidates if candidate not in chosen.deterministic]
        return Choice(chosen.deterministic, choice_module.choose(others, {}, fanout, fanout, rng).random)


class IgnoresDistances(Mutant):
    @staticmethod
    def choose(
        candidates: Sequence[BrokerId], distances: Mapping[BrokerId, int], fanout: int, most: int, rng: random.Random
    ) -> Choice:
        return choice_module.choose(candidates, dict.fromkeys(distances, 2), fanout, most, rng)


class UsesEveryLinkToASubscriber(Mutant):
    @staticmethod
    def choose(
        candidates: Sequence[BrokerId], distances: Mapping[BrokerId, int], fanout: int, most: int, rng: random.Random
    ) -> Choice:
        return choice_module.choose(candidates, distances, fanout, len(candidates), rng)


class UsesTheNearestDistanceOnly(Mutant):
    """Fills up at random instead of by further distances."""

    @staticmethod
    def choose(
        candidates: Sequence[BrokerId], distances: Mapping[BrokerId, int], fanout: int, most: int, rng: random.Random
    ) -> Choice:
        least = min((distances[candidate] for candidate in candidates if candidate in distances), default=0)
        nearest = {candidate: distance for candidate, distance in distances.items() if distance == least}
        return choice_module.choose(candidates, nearest, fanout, most, rng)


class ChoosesAtRandomOnly(Mutant):
    @staticmethod
    def choose(
        candidates: Sequence[BrokerId], distances: Mapping[BrokerId, int], fanout: int, most: int, rng: random.Random
    ) -> Choice:
        return choice_module.choose(candidates, {}, fanout, most, rng)


class TakesTheFirstLinks(Mutant):
    """Instead of random ones."""

    @staticmethod
    def choose(
        candidates: Sequence[BrokerId], distances: Mapping[BrokerId, int], fanout: int, most: int, rng: random.Random
    ) -> Choice:
        chosen = choice_module.choose(candidates, distances, fanout, most, rng)
        unmatched = [candidate for candidate in candidates if candidate not in distances]
        return Choice(chosen.deterministic, unmatched[: len(chosen.random)])


class IgnoresThePreference(Mutant):
    """Takes nearer subscribers first, whatever the options say."""

    def _forwarded(
        self, message: Message, header: EventHeader, distances: Mapping[BrokerId, int], source: BrokerId | None
    ) -> list[Action]:
        options = msgspec.structs.replace(self._options, preference="nearest")
        with mock.patch.object(self, "_options", options):
            return super()._forwarded(message, header, distances, source)


class HasATenthMoreThreshold(Mutant):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._threshold = min(Fraction(1), self._threshold + Fraction(1, 10))


class DropsEveryThirdCopy(Mutant):
    _copies = 0

    def _forwarded(
        self, message: Message, header: EventHeader, distances: Mapping[BrokerId, int], source: BrokerId | None
    ) -> list[Action]:
        kept = []
        for action in super()._forwarded(message, header, distances, source):
            self._copies += 1
            if self._copies % 3:
                kept.append(action)
        return kept


class DrawsAsOtherBrokersDo(Mutant):
    """All brokers draw the same numbers."""

    def __init__(self, context: Context) -> None:
        super().__init__(dataclasses.replace(context, random=random.Random(1)))


class DrawsOnceForAllEvents(Mutant):
    @staticmethod
    def choose(
        candidates: Sequence[BrokerId], distances: Mapping[BrokerId, int], fanout: int, most: int, rng: random.Random
    ) -> Choice:
        return choice_module.choose(candidates, distances, fanout, most, random.Random(1))


class DrawsEveryLinkInTurn(Mutant):
    """Uses its links equally often, and the link of the next event follows from that of the last."""

    _turn = 0

    def _forwarded(
        self, message: Message, header: EventHeader, distances: Mapping[BrokerId, int], source: BrokerId | None
    ) -> list[Action]:
        self._turn += 1
        candidates, fanout = self._candidates_from(source)
        first = self._turn % max(1, len(candidates))
        chosen = [*candidates[first:], *candidates[:first]][:fanout]
        onward = router_module._onward(message, header.after_random_hop(), router_module.RANDOM)
        return [Send(neighbour, onward) for neighbour in chosen]


class SendsBack(Mutant):
    def _candidates_from(self, source: BrokerId | None) -> tuple[Sequence[BrokerId], int]:
        return super()._candidates_from(None)


class CountsDeadLinks(Mutant):
    def _candidates_from(self, source: BrokerId | None) -> tuple[Sequence[BrokerId], int]:
        candidates = sorted(neighbour for neighbour in self._context.links if neighbour != source)
        return candidates, self.fanout(self._threshold, len(candidates))


class SparesLeavesWithoutException(Mutant):
    def _forwarded(
        self, message: Message, header: EventHeader, distances: Mapping[BrokerId, int], source: BrokerId | None
    ) -> list[Action]:
        others = {to: distance for to, distance in distances.items() if to not in self._leaves}
        return super()._forwarded(message, header, others, source)


class KeepsLeaves(Mutant):
    """Takes a neighbour that has been a leaf for one for ever."""

    def _receive_leaf(self, neighbour: BrokerId, message: Message) -> Actions:
        self._leaves.add(neighbour)
        return ()


# Subscriptions


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


# Times-to-live


class _HopsOff(Mutant):
    """Has other times-to-live left after a hop."""

    def _forwarded(
        self, message: Message, header: EventHeader, distances: Mapping[BrokerId, int], source: BrokerId | None
    ) -> list[Action]:
        actions: list[Action] = []
        for action in super()._forwarded(message, header, distances, source):
            assert isinstance(action, Send)
            right = decode_event(action.message.header, self._options)
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
    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        if 0 in (header.deterministic_ttl, header.probabilistic_ttl):
            both = header.deterministic_ttl == header.probabilistic_ttl == 0
            matched = list(matched)
            unlimited = EventHeader(header.publisher, header.number)
            return super()._spread(message, header if both else unlimited, matched, source)
        return super()._spread(message, header, matched, source)

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        any_limit = mock.patch.object(router_module, "decode_event", lambda header, options: _decode(header))
        with any_limit:
            return super()._receive_publication(neighbour, message)


class TheLastHopDoesNotDeliver(Mutant):
    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        return super()._spread(message, header, () if header.spent and source is not None else matched, source)


class PublishesWithoutEffectOnItself(Mutant):
    """Does not notify its own clients of what another of them publishes."""

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        actions = super().publish(client, message, publication, advertisement)
        return [action for action in actions if isinstance(action, Send)]


def _decode(header: bytes) -> EventHeader:
    return msgspec.msgpack.decode(header, type=EventHeader)


@contextmanager
def in_place_of_the_right(variant: type[Mutant]) -> Iterator[None]:
    """All brokers run this router."""
    with (
        in_place_of("semi-probabilistic", variant),
        mock.patch.multiple(ROUTER, choose=variant.choose, fanout=variant.fanout),
    ):
        yield


def _variants(kind: type[Mutant]) -> Iterator[type[Mutant]]:
    """All classes derived from one, but for those that only others derive from."""
    for variant in kind.__subclasses__():
        if not variant.__name__.startswith("_"):
            yield variant
        yield from _variants(variant)


MUTANTS: Mapping[str, type[Mutant]] = {variant.__name__: variant for variant in _variants(Mutant)}
"""Every variant by its name."""
