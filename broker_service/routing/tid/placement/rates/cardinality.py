"""Cardinality |P(S)|: matches of a subscription a second (section 4.3, Table 2).

A part has the rates of the advertisements that it intersects, each times its selection factor. Operands of `&` and
`||` are combined as in Table 2: the least of their rates for `&`, the sum for `||`, which holds where each match is
used once. Here every combination within the window counts, and such detections may be more by any factor. Places are
chosen by Table 2 all the same: section 4.2 sends a unit whose parts have one destination there without comparing costs,
which is right only where detections are fewer than publications. With the true number, a unit that was moved towards
its subscriber would be sent back at once by that rule: in trials it went to and fro at every interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker_service.language.composite import And, Atomic, Or
from broker_service.language.composite_subscription import relaxed
from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.rates.selection import Selection
from broker_service.routing.tid.placement.rates.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Source:
    """An advertisement that a part intersects, seen from one broker."""

    next_hop: BrokerId
    """The neighbour towards the publisher; this broker itself for a client of its own."""
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class PartMatches:
    """Matches of a part, as estimated at one broker."""

    rate: float
    """Matches a second, |P(S)|."""
    flows: Mapping[BrokerId, float]
    """Matches a second by next hop; empty for a part that no advertisement intersects."""


def matches_of(part: Atomic, sources: Sequence[Source]) -> PartMatches:
    """Matches of a part in the publications of these sources."""
    selection = Selection(relaxed(part))
    rates: dict[BrokerId, float] = {}
    for source in sources:
        rate = source.statistics.rate * selection.factor(source.statistics)
        rates[source.next_hop] = rates.get(source.next_hop, 0.0) + rate
    return PartMatches(sum(rates.values()), rates)


def joined_rate(node: And | Or, rates: Sequence[float]) -> float:
    """Matches a second of a node, from those of its operands, at least one (Table 2)."""
    return min(rates) if isinstance(node, And) else sum(rates)
