from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_service.language import Number, Operator, Predicate, Value
from broker_service.language.content import all_hold
from broker_service.matching.bounds import (
    UNBOUNDED,
    AttributeLimits,
    bounds_of,
    double_not_above,
    double_not_below,
    intersection,
)
from tests.broker_service.matching.strategies import STRING_OPERATORS, number_predicates, numbers, values

any_number = (
    numbers | st.integers() | st.integers(2**53 - 5, 2**53 + 5) | st.floats(allow_nan=False, allow_infinity=False)
)


def _rank(number: Number) -> Fraction | float:
    return number if isinstance(number, float) and math.isinf(number) else Fraction(number)


@given(any_number)
@example(2**53 + 1)
@example(10**400)
def test_neighbouring_doubles_enclose_a_number_and_nothing_lies_between(number: Number) -> None:
    above, below = double_not_below(number), double_not_above(number)
    assert _rank(below) <= _rank(number) <= _rank(above)
    assert above == below or math.nextafter(below, math.inf) == above


def _within(predicates: list[Predicate], value: Value | None) -> tuple[bool, bool]:
    """Return whether a value of attribute `a` is within the folded bounds, and whether that is exact."""
    bounds = UNBOUNDED
    for predicate in predicates:
        interval = bounds_of(predicate)
        assert interval is not None
        bounds = intersection(bounds, interval)
    limits = AttributeLimits({} if value is None else {"a": value})
    low, high = limits.of(["a"])
    return bounds[0] <= low and bounds[1] <= high, limits.exact


_intervals = number_predicates.map(lambda p: Predicate("a", p.operator, p.value)).filter(
    lambda p: bounds_of(p) is not None
)


@given(st.lists(_intervals, min_size=1, max_size=3), values | any_number | st.none())
def test_bounds_decide_exactly_and_where_they_do_not_they_say_so_and_lose_nothing(
    predicates: list[Predicate], value: Value | None
) -> None:
    expected = all_hold(predicates, {} if value is None else {"a": value})
    within, exact = _within(predicates, value)
    if exact:
        assert within == expected
    else:
        assert within or not expected


@given(any_number)
def test_every_ordinary_number_is_decided_exactly(number: Number) -> None:
    limits = AttributeLimits({"a": number})
    limits.of(["a"])
    assert limits.exact == (isinstance(number, float) or abs(number) <= 2**53)


def test_an_unbounded_end_admits_a_missing_attribute() -> None:
    low, high = AttributeLimits({}).of(["a"])
    assert UNBOUNDED[0] <= low
    assert UNBOUNDED[1] <= high


@pytest.mark.parametrize("operator", [Operator.NOT_EQUAL, Operator.PRESENT])
def test_what_is_no_interval_has_no_bounds(operator: Operator) -> None:
    assert bounds_of(Predicate("a", operator, 1)) is None


def test_strings_have_no_bounds() -> None:
    assert all(bounds_of(Predicate("a", operator, "x")) is None for operator in STRING_OPERATORS)
