from __future__ import annotations

from broker_service.language import Operator, Predicate
from broker_service.matching.conditions import (
    HOLDS,
    LONGEST_STRING,
    MOST_ATTRIBUTES,
    MOST_FINDINGS_BYTES,
    UNKNOWN,
    Condition,
    Conditions,
)


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


def test_what_was_found_is_known_for_the_same_values_only() -> None:
    conditions = Conditions()
    number = conditions.acquire(_condition(1))
    found = conditions.findings({"price": 2, "volume": 10})
    assert list(found) == [UNKNOWN]
    found[number] = HOLDS
    assert list(conditions.findings({"price": 2.0, "volume": 11})) == [HOLDS]
    assert list(conditions.findings({"price": "2"})) == [UNKNOWN]
    assert list(conditions.findings({})) == [UNKNOWN]


def test_a_new_condition_under_a_number_is_unknown() -> None:
    conditions = Conditions()
    number = conditions.acquire(_condition(1))
    conditions.findings({"price": 2})[number] = HOLDS
    conditions.release(number)
    assert conditions.acquire(_condition(2)) == number
    assert list(conditions.findings({"price": 2})) == [UNKNOWN]


def test_a_condition_that_is_added_has_its_place_among_what_is_known() -> None:
    conditions = Conditions()
    conditions.acquire(_condition(1))
    conditions.findings({"price": 2})[0] = HOLDS
    added = conditions.acquire(_condition(2))
    assert conditions.findings({"price": 2})[added] == UNKNOWN


def test_a_condition_about_another_attribute_tells_values_apart_by_it() -> None:
    conditions = Conditions()
    conditions.acquire(_condition(1))
    other = conditions.acquire((Predicate("symbol", Operator.STRING_PREFIX, "A"),))
    conditions.findings({"price": 2, "symbol": "AB"})[other] = HOLDS
    assert list(conditions.findings({"price": 2, "symbol": "B"})) == [UNKNOWN, UNKNOWN]


def test_findings_are_bounded() -> None:
    conditions = Conditions()
    for value in range(1000):
        conditions.acquire(_condition(value))
    for value in range(MOST_FINDINGS_BYTES // 1000):
        conditions.findings({"price": value})[0] = HOLDS
    assert conditions.findings({"price": 0})[0] == UNKNOWN


def test_long_strings_are_not_kept() -> None:
    conditions = Conditions()
    conditions.acquire((Predicate("symbol", Operator.STRING_PREFIX, "A"),))
    for length, known in (LONGEST_STRING, HOLDS), (LONGEST_STRING + 1, UNKNOWN):
        conditions.findings({"symbol": "A" * length})[0] = HOLDS
        assert list(conditions.findings({"symbol": "A" * length})) == [known]


def test_where_conditions_are_about_many_attributes_nothing_is_kept_until_they_are_gone() -> None:
    conditions = Conditions()
    many = tuple(Predicate(f"a{number}", Operator.NOT_EQUAL, 1) for number in range(MOST_ATTRIBUTES))
    conditions.acquire(_condition(1))
    number = conditions.acquire(many)
    conditions.findings({"price": 2})[0] = HOLDS
    assert conditions.findings({"price": 2})[0] == UNKNOWN
    conditions.release(number)
    conditions.findings({"price": 2})[0] = HOLDS
    assert conditions.findings({"price": 2})[0] == HOLDS
