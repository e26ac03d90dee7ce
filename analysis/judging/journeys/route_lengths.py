"""Lengths of the routes of publications: the links that each copy had travelled when it arrived at a broker.

A copy that reaches a broker which has had the publication is *repeated*: its route ends there (semi-probabilistic
routing, section 4, footnote 4). Of copies that arrive at the same time, the one over the fewest links comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from analysis.reading.event_table import NOBODY, EventTable
from analysis.reading.publication_events import UNKNOWN
from analysis.tables.totals import Rows, Sum
from analysis.tables.traffic import RouteLength
from record.log import Event


class Copies(msgspec.Struct):
    """Copies that arrived from neighbours, by links travelled."""

    variant: int
    hops: int
    first: Sum = 0
    repeated: Sum = 0


def routes_of(table: EventTable) -> Rows[Copies]:
    """The copies of a bucket of publications."""
    arrivals = table.events.of(Event.RECEIVED)
    arrivals = arrivals.take(np.lexsort((arrivals.hops, arrivals.time, arrivals.broker, arrivals.journey)))
    same = (arrivals.journey[1:] == arrivals.journey[:-1]) & (arrivals.broker[1:] == arrivals.broker[:-1])
    repeated = np.concatenate(([False], same))[: len(arrivals)]
    variants = np.array([variant for _, variant in table.journeys], dtype=np.int64)
    copies = np.column_stack((variants[arrivals.journey], arrivals.hops, repeated))
    from_neighbours = (arrivals.neighbour != NOBODY) & (arrivals.hops != UNKNOWN)
    routes, counts = np.unique(copies[from_neighbours], axis=0, return_counts=True)
    found = Rows(Copies)
    for (variant, hops, again), count in zip(routes.tolist(), counts.tolist(), strict=True):
        of_length = found.of(variant, hops)
        if again:
            of_length.repeated = count
        else:
            of_length.first = count
    return found


def lengths(copies: Iterable[Copies], variants: Sequence[str], scales: Sequence[float]) -> Iterator[RouteLength]:
    """The table `routes`, given the number of publications for which each logged one stands, by variant."""
    for found in copies:
        yield RouteLength(
            variant=variants[found.variant],
            hops=found.hops,
            first=round(found.first * scales[found.variant]),
            repeated=round(found.repeated * scales[found.variant]),
        )
