"""The judge reads the declarations that the brokers' language has, and refuses all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.judging.language import OutsideLanguageError, advertised, subscribed
from broker_service.language import Advertisement, ContentError, Operator, Predicate, Subscription
from broker_service.language.records import recorded_predicate
from record.log import PredicateRecord
from tests.analysis.judging.language.translation import conjunction_of, records_of
from tests.broker_service.language import strategies as language

T = TypeVar("T")

WORDS = [operator.value for operator in Operator] + ["", "==", "EQ", "ispresent", "str-prefix "]
odd_values = st.sampled_from(
    [float("nan"), float("inf"), -float("inf"), 10**1000, -(10**1000), 10**999, "\ud800", "a" * 4096, "a" * 4097, None]
)
odd_names = st.sampled_from(["", "a" * 256, "a" * 257, "\udfff", "class"])


@st.composite
def records(draw: st.DrawFn) -> PredicateRecord:
    value = draw(language.any_values | odd_values)
    number, string = (None, value) if isinstance(value, str) else (value, None)
    return PredicateRecord(
        attribute=draw(language.names | odd_names),
        operator=draw(st.sampled_from(WORDS)),
        number=number,
        string=string,
    )


def by_brokers(make: Callable[[tuple[Predicate, ...]], T], made: list[PredicateRecord]) -> T | None:
    try:
        return make(tuple(recorded_predicate(record) for record in made))
    except ContentError:
        return None


@settings(deadline=None, max_examples=300)
@given(st.lists(records() | language.any_predicates().map(lambda predicate: records_of([predicate])[0]), max_size=3))
def test_records_are_read_as_the_brokers_read_them(made: list[PredicateRecord]) -> None:
    makes: tuple[Callable[[tuple[Predicate, ...]], Subscription | Advertisement], ...] = (Subscription, Advertisement)
    for read, make in zip((subscribed, advertised), makes, strict=True):
        expected = by_brokers(make, made)
        if expected is None:
            with pytest.raises(OutsideLanguageError):
                read(made)
        else:
            assert read(made) == conjunction_of(expected.predicates)


def _many(count: int, attributes: int = 1) -> list[PredicateRecord]:
    return [
        PredicateRecord(attribute="class" if place == 0 else f"a{place % attributes}", operator="eq", string="A")
        for place in range(count)
    ]


@pytest.mark.parametrize("count", [256, 257])
def test_a_subscription_has_256_predicates_at_most(count: int) -> None:
    made = _many(count)
    assert (by_brokers(Subscription, made) is None) == (count > 256)
    if count > 256:
        with pytest.raises(OutsideLanguageError, match="257 predicates"):
            subscribed(made)
    else:
        assert len(subscribed(made)) == count


@pytest.mark.parametrize(("count", "attributes"), [(1024, 10), (1025, 10), (257, 1), (258, 1)])
def test_an_advertisement_has_1024_predicates_at_most_and_256_on_an_attribute(count: int, attributes: int) -> None:
    made = _many(count, attributes)
    if by_brokers(Advertisement, made) is None:
        with pytest.raises(OutsideLanguageError, match="predicates"):
            advertised(made)
    else:
        assert len(advertised(made)) == count


def test_an_advertisement_names_the_class() -> None:
    with pytest.raises(OutsideLanguageError, match="class"):
        advertised([PredicateRecord(attribute="x", operator="=", number=1)])


def test_numbers_of_equal_value_are_one_operand() -> None:
    whole, decimal = (PredicateRecord(attribute="x", operator="eq", number=number) for number in (1, 1.0))
    assert subscribed([whole]) == subscribed([decimal])
