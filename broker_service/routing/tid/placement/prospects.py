"""A broker's own view of a unit: the trees that it needs, their rates, and the decision about its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isinf

from broker_service.language import Subscription
from broker_service.language.composite import Atomic, Composite
from broker_service.language.composite_subscription import parts_of, relaxed
from broker_service.messages import BrokerId
from broker_service.routing.interface import Action
from broker_service.routing.tid.placement.decision.choice import Choice, Decision
from broker_service.routing.tid.placement.decision.cost import Surroundings
from broker_service.routing.tid.placement.decision.explanation import explain
from broker_service.routing.tid.placement.decision.measurement import Measurement
from broker_service.routing.tid.placement.decision.queueing import GUESSED_TIMES
from broker_service.routing.tid.placement.exchange import Exchange, OwnUnit
from broker_service.routing.tid.placement.messages import PartRates, TreeRate
from broker_service.routing.tid.placement.rates.cardinality import PartMatches, Source, matches_of
from broker_service.routing.tid.placement.rates.statistics import guess
from broker_service.routing.tid.placement.rows import UnitRow
from broker_service.routing.tid.placement.sub_units import SubUnit, sub_units
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import AdvertisementRow, SubscriptionRoutingTable
from record.log import PlaceCost, PlacementRecord


class Prospects:
    """Decides about units at one broker."""

    def __init__(
        self,
        broker: BrokerId,
        choice: Choice,
        *,
        advertisements: SubscriptionRoutingTable,
        intersects: Callable[[AdvertisementRow, Subscription], bool],
        exchange: Exchange,
        measurement: Measurement,
    ) -> None:
        self._broker = broker
        self._choice = choice
        self._advertisements = advertisements
        self._intersects = intersects
        self._exchange = exchange
        self._measurement = measurement

    def rates(self, pattern: Composite) -> PartRates:
        """The trees that each part intersects, with its matches a second in each."""
        return tuple(tuple(self._tree_rates(part)) for part in parts_of(pattern))

    def trees(self, pattern: Composite) -> dict[TreeId, None]:
        """The trees that some part intersects."""
        subscriptions = dict.fromkeys(map(relaxed, parts_of(pattern)))
        return {
            row.id: None
            for row in self._advertisements
            if any(self._intersects(row, subscription) for subscription in subscriptions)
        }

    def want_statistics(self, row: UnitRow, trees: Iterable[TreeId]) -> list[Action]:
        """Asks for the statistics of these trees, if costs depend on them."""
        actions: list[Action] = []
        if self._choice.compares_costs:
            row.wanted = tuple(dict.fromkeys((*row.wanted, *trees)))
            for tid in trees:
                actions += self._exchange.want(tid, OwnUnit(row.unit.id))
        return actions

    def unwant_statistics(self, row: UnitRow) -> list[Action]:
        """Asks for no statistics any more on behalf of a unit."""
        actions = [action for tid in row.wanted for action in self._exchange.unwant(tid, OwnUnit(row.unit.id))]
        row.wanted = ()
        return actions

    def decide_on_arrival(self, row: UnitRow, parts: PartRates) -> Decision:
        """Decides about a unit that has come here. It goes to no broker that it has been at."""
        return self._decide(row, parts, frozenset(passed.broker for passed in row.path), frozenset())

    def decide_again(self, row: UnitRow, parts: PartRates) -> Decision:
        """Decides about a unit at its join point, which may return it to the neighbour that it came from."""
        visited = frozenset(passed.broker for passed in row.path[:-1])
        return self._decide(row, parts, visited, frozenset(() if row.previous is None else (row.previous,)))

    def _decide(
        self, row: UnitRow, parts: PartRates, visited: frozenset[BrokerId], candidates: frozenset[BrokerId]
    ) -> Decision:
        measured = self._measurement.latest
        times = measured.times if measured.times.handling else GUESSED_TIMES
        # A neighbour that has handled nothing reports no times, and would seem to cost nothing.
        neighbours = {neighbour: reported for neighbour, reported in self._exchange.times.items() if reported.handling}
        around = Surroundings(self._broker, times, measured.outputs, neighbours, row.previous, visited, candidates)
        return self._choice.decide(row.unit.composite.pattern, [self._seen_from_here(part) for part in parts], around)

    @property
    def makes_sub_units(self) -> bool:
        """False for topology-based routing, where "each individual part is routed [...] separately" (section 4)."""
        return self._choice.compares_costs

    def sub_units(self, decision: Decision) -> list[SubUnit]:
        """The sub-units of a unit that is split here by this decision."""
        return sub_units(decision, self._broker) if self.makes_sub_units else []

    def note(self, row: UnitRow, decision: Decision, parts: PartRates) -> None:
        """Keeps a decision with the unit, for people and for the log."""
        row.explanation = explain(decision, self._broker)
        row.placement = PlacementRecord(
            unit=row.unit.id,
            epoch=row.epoch,
            move=row.move,
            path=(*(passed.broker for passed in row.path), self._broker),
            matches=decision.rate,
            parts=tuple(sum(rate for _, rate in part) for part in parts),
            costs=tuple(PlaceCost(cost.place, None if isinf(cost.total) else cost.total) for cost in decision.costs),
        )

    def _tree_rates(self, part: Atomic) -> Iterator[TreeRate]:
        subscription = relaxed(part)
        for row in self._advertisements:
            if self._intersects(row, subscription):
                statistics = self._exchange.statistics(row.id) or guess(row.advertisement)
                yield row.id, matches_of(part, [Source(self._broker, statistics)]).rate

    def _seen_from_here(self, part: Sequence[TreeRate]) -> PartMatches:
        """A part's matches by next hop, in the trees that are known here."""
        flows: dict[BrokerId, float] = {}
        for tid, rate in part:
            if tid in self._advertisements:
                next_hop = self._advertisements.last_hop(tid) or self._broker
                flows[next_hop] = flows.get(next_hop, 0.0) + rate
        return PartMatches(sum(flows.values()), flows)
