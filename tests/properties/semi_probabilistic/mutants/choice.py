"""Semi-probabilistic routers that choose links wrongly."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

from broker_service.messages import BrokerId, Message
from broker_service.routing.interface import Action, Actions, Send
from broker_service.routing.semi_probabilistic import choice as choice_module
from broker_service.routing.semi_probabilistic import router as router_module
from broker_service.routing.semi_probabilistic.choice import Choice
from broker_service.routing.semi_probabilistic.messages import EventHeader
from tests.properties.semi_probabilistic.mutants.mutant import Context, Mutant


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

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._prefers_nearest = True


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
        onward = router_module._onward(message, header, header.after_random_hop(), router_module.RANDOM)
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
