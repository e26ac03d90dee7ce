"""Destinations of a composite subscription at one broker (section 4.2), bottom-up over its tree.

(a) A leaf is an atomic subscription: its destinations are its next hops in the subscription routing table.
(b) A node whose operands all have the same destination has that destination, too.
(c) Otherwise a strategy chooses among this broker and the operands' destinations.
(d) The root's destination decides: another broker gets the whole unit and decides anew; at this broker it is split.

Decisions where the paper leaves something open:

1. A leaf that several advertisements match may have several next hops. It agrees with others only if all of those are
   one neighbour; each of them is a candidate in (c).
2. `&` and `||` have two operands or more. Operands with the same single destination count as one flow, because they
   travel on as one unit (`sub_units`), or each part by itself where that takes fewer messages.
3. A leaf without advertisement waits where the unit is, and takes no part in the choice. If no leaf has any, the node
   has no destination.
4. A broker that the unit has been at is no destination, so that a unit visits no broker twice, whatever trees and costs
   change meanwhile.
5. Of equal costs this broker's wins, because nothing has to move; then that of the smaller name.
6. A join point that decides again also compares the neighbour that the unit came from.
7. Topology-based routing differs in (c) alone, where it always takes this broker, the first one at which the sources
   lie in different directions.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from broker_service.language.composite import And, Atomic, Composite, Or
from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.decision.cost import Flows, Surroundings, TotalCost, total_cost
from broker_service.routing.tid.placement.rates.cardinality import PartMatches, joined_rate


class Reason(enum.Enum):
    """Grounds on which a node got its destination."""

    UNADVERTISED = "no advertisement"
    ADVERTISED = "next hop of its advertisements"
    COMMON = "common destination of its operands"
    VISITED = "common destination, where the unit has been"
    DIVERGENCE = "first broker at which the operands' sources lie in different directions"
    COST = "least total routing cost"
    RETURNED = "returned by the join point before"


@dataclass(frozen=True, slots=True)
class Decision:
    """Destination of one node, with the grounds for it."""

    pattern: Composite
    destinations: frozenset[BrokerId]
    """One broker for a node with operands; a leaf may have several, and a node without advertisement has none."""
    reason: Reason
    rate: float
    """The node's matches a second, as estimated."""
    flows: Flows
    """The node's matches a second, by the broker that they come from."""
    costs: tuple[TotalCost, ...] = ()
    """Candidates in ascending order of name, where the reason is their cost."""
    operands: tuple[Decision, ...] = ()

    @property
    def traffic(self) -> float:
        """Messages a second that bring the node's matches here."""
        return sum(self.flows.values())


@dataclass(frozen=True, slots=True)
class Candidates:
    """A node whose operands have different destinations."""

    places: Sequence[BrokerId]
    """Places to weigh: this broker first, then the others in ascending order."""
    flows: Flows
    detections: float
    surroundings: Surroundings


Strategy = Callable[[Candidates], tuple[BrokerId, Reason, tuple[TotalCost, ...]]]


def least_cost(candidates: Candidates) -> tuple[BrokerId, Reason, tuple[TotalCost, ...]]:
    """Dynamic composite subscription routing (DCSR): the candidate of least total routing cost."""
    costs = [
        total_cost(place, candidates.flows, candidates.detections, candidates.surroundings)
        for place in candidates.places
    ]
    return min(costs, key=_total_of).place, Reason.COST, tuple(costs)


def divergence(candidates: Candidates) -> tuple[BrokerId, Reason, tuple[TotalCost, ...]]:
    """Topology-based routing: this broker, where the sources' directions differ."""
    return candidates.surroundings.broker, Reason.DIVERGENCE, ()


class Choice:
    """Chooses destinations by one strategy."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    @property
    def compares_costs(self) -> bool:
        """True when the strategy depends on statistics and times."""
        return self._strategy is least_cost

    def decide(self, pattern: Composite, parts: Sequence[PartMatches], surroundings: Surroundings) -> Decision:
        """Destinations of a pattern at one broker. `parts` are in the order of `parts_of`."""
        return self._decide(pattern, iter(parts), surroundings)

    def _decide(self, pattern: Composite, parts: Iterator[PartMatches], surroundings: Surroundings) -> Decision:
        if isinstance(pattern, Atomic):
            part = next(parts)
            reason = Reason.ADVERTISED if part.flows else Reason.UNADVERTISED
            return Decision(pattern, frozenset(part.flows), reason, part.rate, part.flows)
        operands = tuple([self._decide(operand, parts, surroundings) for operand in pattern.operands])
        return self._join(pattern, operands, surroundings)

    def _join(self, pattern: And | Or, operands: tuple[Decision, ...], surroundings: Surroundings) -> Decision:
        here = surroundings.broker
        taking_part = [operand for operand in operands if operand.destinations]
        if not taking_part:
            return Decision(pattern, frozenset(), Reason.UNADVERTISED, 0.0, {}, operands=operands)
        rate = joined_rate(pattern, [operand.rate for operand in taking_part])
        every = frozenset().union(*(operand.destinations for operand in taking_part))
        others = sorted((every | surroundings.candidates) - surroundings.visited - {here})
        costs: tuple[TotalCost, ...] = ()
        if len(every) == 1:
            (place,) = every
            reason = Reason.COMMON
            if place in surroundings.visited:
                place, reason = here, Reason.VISITED
        else:
            flows = self._flows(pattern, taking_part)
            place, reason, costs = self._strategy(Candidates([here, *others], flows, rate, surroundings))
        carried = least_traffic(rate, taking_part)
        return Decision(pattern, frozenset((place,)), reason, rate, {place: carried}, costs, operands)

    def _flows(self, node: And | Or, operands: Sequence[Decision]) -> Flows:
        """Messages a second from each direction: operands with the same single destination are joined there."""
        together: dict[BrokerId, list[Decision]] = {}
        flows: dict[BrokerId, float] = {}
        for operand in operands:
            if len(operand.destinations) == 1:
                (source,) = operand.destinations
                together.setdefault(source, []).append(operand)
            else:
                for source, rate in operand.flows.items():
                    flows[source] = flows.get(source, 0.0) + rate
        for source, members in together.items():
            joined = joined_rate(node, [member.rate for member in members])
            flows[source] = flows.get(source, 0.0) + least_traffic(joined, members)
        return flows


def least_traffic(joined: float, operands: Sequence[Decision]) -> float:
    """Messages a second of operands with one destination: the sets that are detected there, or each operand's own."""
    return min(joined, sum(operand.traffic for operand in operands))


def _total_of(cost: TotalCost) -> float:
    return cost.total
