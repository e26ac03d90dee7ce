"""Lengths of the routes of publications: the links that each copy had travelled when it arrived at a broker.

A copy that reaches a broker which has had the publication is *repeated*: its route ends there (semi-probabilistic
routing, section 4, footnote 4). Of copies that arrive at the same time, the one over the fewest links comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from analysis.reading.event_table import NOBODY, EventTable
from analysis.reading.publication_events import UNKNOWN
from analysis.tables.traffic import RouteLength
from record.log import Event


class _Route(NamedTuple):
    variant: int
    hops: int
    repeated: bool


@dataclass(slots=True)
class RouteTally:
    """Copies that arrived from neighbours, by variant, links travelled, and whether they were repeated."""

    copies: Counter[_Route] = field(default_factory=Counter)

    @classmethod
    def of(cls, table: EventTable) -> Self:
        """The copies of a bucket of publications."""
        arrivals = table.events.of(Event.RECEIVED)
        arrivals = arrivals.take(np.lexsort((arrivals.hops, arrivals.time, arrivals.broker, arrivals.journey)))
        same = (arrivals.journey[1:] == arrivals.journey[:-1]) & (arrivals.broker[1:] == arrivals.broker[:-1])
        repeated = np.concatenate(([False], same))[: len(arrivals)]
        variants = np.array([variant for _, variant in table.journeys], dtype=np.int64)
        copies = np.column_stack((variants[arrivals.journey], arrivals.hops, repeated))
        from_neighbours = (arrivals.neighbour != NOBODY) & (arrivals.hops != UNKNOWN)
        routes, counts = np.unique(copies[from_neighbours], axis=0, return_counts=True)
        found = zip(routes.tolist(), counts.tolist(), strict=True)
        return cls(Counter({_Route(variant, hops, bool(again)): count for (variant, hops, again), count in found}))

    def merge(self, other: RouteTally) -> None:
        self.copies.update(other.copies)

    def lengths(self, variants: Sequence[str], scales: Sequence[float]) -> Iterator[RouteLength]:
        """The table `routes`, given the number of publications for which each logged one stands, by variant."""
        for number, hops in sorted({(route.variant, route.hops) for route in self.copies}):
            first, repeated = (self.copies[_Route(number, hops, again)] for again in (False, True))
            yield RouteLength(
                variant=variants[number],
                hops=hops,
                first=round(first * scales[number]),
                repeated=round(repeated * scales[number]),
            )
