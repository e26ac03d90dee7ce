"""Satisfiability over the reals, against a grid that has a number in every gap between the operands."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.language import Operator
from broker_service.language.content import TESTS
from broker_service.language.number_sets import Condition, escapable, satisfiable
from tests.broker_service.language.strategies import GRID, number_conditions, unhurried

conjunctions = st.lists(number_conditions, max_size=5)


@settings(unhurried, max_examples=500)
@given(conjunctions)
def test_satisfiable_equals_the_grid(conditions: list[Condition]) -> None:
    assert satisfiable(conditions) == any(all(TESTS[op](x, value) for op, value in conditions) for x in GRID)


@settings(unhurried, max_examples=500)
@given(conjunctions, number_conditions)
def test_escapable_equals_the_grid(conditions: list[Condition], condition: Condition) -> None:
    operator, operand = condition
    expected = any(
        all(TESTS[op](x, value) for op, value in conditions) and not TESTS[operator](x, operand) for x in GRID
    )
    assert escapable(conditions, condition) == expected


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([(Operator.GREATER, 1), (Operator.LESS, 2)], True),
        ([(Operator.GREATER, 1), (Operator.LESS, 1)], False),
        ([(Operator.GREATER_OR_EQUAL, 1), (Operator.LESS_OR_EQUAL, 1.0)], True),
        ([(Operator.GREATER_OR_EQUAL, 1), (Operator.LESS_OR_EQUAL, 1), (Operator.NOT_EQUAL, 1.0)], False),
        ([(Operator.GREATER, 2**53), (Operator.LESS, 2**53 + 1)], True),
        ([(Operator.EQUAL, 2**53 + 1), (Operator.EQUAL, float(2**53))], False),
        ([(Operator.GREATER, 10**400), (Operator.LESS, 1.7e308)], False),
        ([(Operator.NOT_EQUAL, 0), (Operator.NOT_EQUAL, -0.0)], True),
    ],
)
def test_satisfiable_by_hand(conditions: list[Condition], expected: bool) -> None:
    assert satisfiable(conditions) is expected
