"""Decision whether a join point passes a unit on (section 4.4: "a broker that is able to detect [...] with a cost lower
than itself"; the paper says nothing else about it).

1. A join point decides anew at every interval. Candidates are the next hops of the parts, and the neighbour that the
   unit came from, because a broker knows the times of its neighbours alone.
2. Each comparison of costs that speaks for the candidate has to promise a gain of `margin` at least, as a share of the
   present cost; to return to the join point before, twice that.
3. After a move, a unit stays for two intervals.
4. Where no cost was compared, because all parts come from one neighbour, that neighbour gets the unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.decision.choice import Decision
from broker_service.routing.tid.placement.rows import UnitRow


@dataclass(frozen=True, slots=True)
class MovementRules:
    """The rules of one broker, with the scenario's numbers."""

    broker: BrokerId
    interval: float
    """Seconds; 0 where units do not move."""
    margin: float

    @property
    def units_move(self) -> bool:
        return self.interval > 0

    def is_due(self, row: UnitRow, now: float) -> bool:
        """True at a join point that may pass its unit on by now."""
        return row.joins and (row.former_place is None or now - row.joined_at >= 2 * self.interval)

    def destination(self, decision: Decision, former_place: BrokerId | None) -> BrokerId | None:
        """The neighbour that gets the unit; None where it stays."""
        place = min(decision.destinations, default=self.broker)
        if place == self.broker:
            return None
        margin = self.margin * (2 if place == former_place else 1)
        gained = all(self._gains(node, place, margin) for node in _nodes(decision) if place in node.destinations)
        return place if gained else None

    def _gains(self, node: Decision, place: BrokerId, margin: float) -> bool:
        costs = {cost.place: cost.total for cost in node.costs}
        return not costs or costs[place] < (1 - margin) * costs[self.broker]


def _nodes(decision: Decision) -> Iterator[Decision]:
    yield decision
    for operand in decision.operands:
        yield from _nodes(operand)
