"""The rules by which a join point passes a unit on."""

from __future__ import annotations

from math import inf

import pytest

from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.notation import parse_composite
from broker_service.messages import BrokerId
from broker_service.routing.interface import CompositeUnit
from broker_service.routing.tid.placement.decision.choice import Decision, Reason
from broker_service.routing.tid.placement.decision.cost import TotalCost
from broker_service.routing.tid.placement.movement import MovementRules
from broker_service.routing.tid.placement.overlap import Overlap
from broker_service.routing.tid.placement.rows import UnitRow

PATTERN = parse_composite("{[class,eq,'A']}&{[class,eq,'B']}")
RULES = MovementRules("B4", 10.0, 0.1)


def decided(place: BrokerId, costs: dict[BrokerId, float], *operands: Decision) -> Decision:
    compared = tuple(TotalCost(broker, {broker: cost}) for broker, cost in costs.items())
    reason = Reason.COST if costs else Reason.COMMON
    return Decision(PATTERN, frozenset((place,)), reason, 1.0, {}, compared, operands)


@pytest.mark.parametrize(
    ("costs", "former_place", "moves"),
    [
        ({"B4": 1.0, "B3": 0.89}, None, True),
        ({"B4": 1.0, "B3": 0.91}, None, False),
        ({"B4": 1.0, "B3": 0.89}, "B3", False),
        ({"B4": 1.0, "B3": 0.79}, "B3", True),
        ({"B4": 1.0, "B3": 0.89}, "B2", True),
        ({"B4": inf, "B3": 1.0}, "B3", True),
        ({"B4": inf, "B3": inf}, None, False),
        ({}, "B3", True),
    ],
)
def test_a_move_has_to_save_the_margin_and_twice_that_to_go_back(
    costs: dict[BrokerId, float], former_place: BrokerId | None, moves: bool
) -> None:
    assert RULES.destination(decided("B3", costs), former_place) == ("B3" if moves else None)


def test_a_unit_stays_where_it_is_best() -> None:
    assert RULES.destination(decided("B4", {"B4": 1.0, "B3": 2.0}), None) is None


def test_the_margin_holds_for_each_comparison_that_speaks_for_the_place() -> None:
    close = decided("B3", {"B4": 1.0, "B3": 0.95})
    assert RULES.destination(decided("B3", {}, close), None) is None
    elsewhere = decided("B2", {"B4": 1.0, "B2": 0.95})
    assert RULES.destination(decided("B3", {"B4": 1.0, "B3": 0.5}, elsewhere), None) == "B3"


def test_a_unit_stays_for_two_intervals_after_a_move() -> None:
    unit = CompositeUnit("B6.1.1", "S", "c", CompositeSubscription(PATTERN, 1))
    row = UnitRow(unit, 1, (), detecting=True, joined_at=100.0)
    assert RULES.is_due(row, 100.0)
    row.former_place = "B3"
    assert not RULES.is_due(row, 119.0)
    assert RULES.is_due(row, 120.0)
    row.overlap = Overlap()
    assert not RULES.is_due(row, 120.0)
