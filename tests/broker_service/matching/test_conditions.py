from __future__ import annotations

from broker_service.language import Operator, Predicate
from broker_service.matching.conditions import Condition, Conditions


def _condition(value: float) -> Condition:
    return (Predicate("price", Operator.NOT_EQUAL, value),)


def test_equal_conditions_share_a_number() -> None:
    conditions = Conditions()
    number = conditions.acquire(_condition(1))
    assert conditions.acquire(_condition(1.0)) == number
    assert conditions.acquire(_condition(2)) != number
    assert len(conditions) == 2
    assert conditions[number] == _condition(1)


def test_a_number_is_given_out_again_only_when_its_last_user_is_gone() -> None:
    conditions = Conditions()
    number = conditions.acquire(_condition(1))
    conditions.acquire(_condition(1))
    conditions.release(number)
    assert conditions.acquire(_condition(2)) != number
    conditions.release(number)
    assert len(conditions) == 1
    assert conditions.acquire(_condition(3)) == number
    assert conditions[number] == _condition(3)
