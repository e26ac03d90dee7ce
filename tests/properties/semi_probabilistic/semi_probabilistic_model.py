"""An independent model of semi-probabilistic routing on an overlay that does not change.

It has no messages, tables, links or simulator: distances come from a breadth-first search, and an event spreads in
rounds, one for each hop, as it does where all links take the same time.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

Numbers = Collection[int]


class Spread(NamedTuple):
    """The course of one event."""

    notified: frozenset[str]
    """Interested brokers that had it."""
    messages: int


@dataclass(frozen=True)
class PlainModel:
    """Brokers that subscribe to numbers, and route by a horizon and a threshold."""

    neighbours: Mapping[str, Collection[str]]
    wanted: Mapping[str, Numbers]
    horizon: int
    threshold: Fraction

    def distances(self) -> Mapping[str, Mapping[str, Mapping[int, int]]]:
        """For each broker and each neighbour: hops to the nearest subscriber to each number over that link."""
        found: dict[str, dict[str, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
        for home, numbers in self.wanted.items():
            for sender, broker, distance in self._ways_from(home):
                nearest = found[broker][sender]
                for number in numbers:
                    nearest[number] = min(distance, nearest.get(number, distance))
        return found

    def spread(
        self,
        publisher: str,
        event: Numbers,
        distances: Mapping[str, Mapping[str, Mapping[int, int]]],
        rng: random.Random,
    ) -> Spread:
        """Lets an event spread until no copy is in flight."""
        had = {publisher}
        messages = 0
        copies = [("", publisher)]
        while copies:
            onward = [
                (broker, neighbour)
                for sender, broker in copies
                for neighbour in self._used(sender, broker, event, distances, rng)
            ]
            messages += len(onward)
            rng.shuffle(onward)
            copies = []
            for sender, broker in onward:
                if broker not in had:
                    had.add(broker)
                    copies.append((sender, broker))
        return Spread(frozenset(broker for broker in had if set(self.wanted[broker]) & set(event)), messages)

    def interested(self, event: Numbers) -> set[str]:
        return {broker for broker, numbers in self.wanted.items() if set(numbers) & set(event)}

    def _ways_from(self, home: str) -> Iterator[tuple[str, str, int]]:
        """Last link and length of the shortest way from a broker over each link, as far as the horizon."""
        waiting = deque((home, neighbour, 1) for neighbour in self.neighbours[home])
        known = set()
        while waiting:
            sender, broker, distance = waiting.popleft()
            if distance <= self.horizon and broker != home and (sender, broker) not in known:
                known.add((sender, broker))
                yield sender, broker, distance
                waiting.extend((broker, to, distance + 1) for to in self.neighbours[broker] if to != sender)

    def _used(
        self,
        sender: str,
        broker: str,
        event: Numbers,
        distances: Mapping[str, Mapping[str, Mapping[int, int]]],
        rng: random.Random,
    ) -> list[str]:
        """The neighbours that a broker sends an event to: the nearest to subscribers, and all adjacent subscribers."""
        candidates = sorted(set(self.neighbours[broker]) - {sender})
        fanout = math.ceil(self.threshold * len(candidates))

        def distance(neighbour: str) -> float:
            over = distances[broker].get(neighbour, {})
            return min((over[number] for number in event if number in over), default=math.inf)

        order = sorted((distance(neighbour), rng.random(), neighbour) for neighbour in candidates)
        return [neighbour for place, (far, _, neighbour) in enumerate(order) if place < fanout or far == 1]
