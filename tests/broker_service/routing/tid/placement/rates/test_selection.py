from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Operator, Predicate, Publication, Subscription, Value
from broker_service.language.content import matches
from broker_service.language.notation import parse_advertisement, parse_subscription
from broker_service.routing.tid.placement.rates.selection import GUESSED_RANGE, Selection
from broker_service.routing.tid.placement.rates.statistics import (
    GUESSED_VALUES,
    Distribution,
    Sample,
    Statistics,
    guess,
)
from tests.broker_service.language.strategies import (
    NUMBERS,
    number_conditions,
    number_operators,
    string_conditions,
    string_operators,
    unhurried,
)
from tests.broker_service.language.strategies import small_subscriptions as subscriptions

ANY = parse_advertisement("[class,isPresent,''],[x,isPresent,0],[y,isPresent,0]")
STRINGS = ["", "a", "ab", "b", "\0"]
values = st.sampled_from([*NUMBERS[:-1], *STRINGS])  # the last number is too large for a list
publications = st.builds(
    lambda class_, others: Publication({"class": class_, **others}),
    st.sampled_from(STRINGS),
    st.dictionaries(st.sampled_from("xy"), values),
)
conditions = st.lists(number_conditions, min_size=1, max_size=3) | st.lists(string_conditions, min_size=1, max_size=3)


def statistics_of(sample: list[Publication]) -> Statistics:
    counted = Sample(ANY, now=0)
    for publication in sample:
        counted.add(publication)
    return counted.describe(now=1)


@unhurried
@given(st.lists(publications, min_size=1, max_size=20), conditions)
def test_the_factor_of_an_attribute_whose_values_are_listed_is_the_share_that_matches(
    sample: list[Publication], wanted: list[tuple[Operator, Value]]
) -> None:
    distribution = statistics_of(sample).attributes["x"]
    naive = Subscription(tuple(_predicate("x", condition) for condition in wanted))
    share = sum(matches(naive, publication) for publication in sample) / len(sample)
    assert attribute_factor(wanted, distribution) == pytest.approx(share)


def attribute_factor(conditions: Sequence[tuple[Operator, Value]], distribution: Distribution) -> float:
    """The factor of a subscription with these conditions on one attribute."""
    subscription = Subscription(tuple(_predicate("x", condition) for condition in conditions))
    return Selection(subscription).factor(Statistics(1.0, {"x": distribution}))


def _predicate(attribute: str, condition: tuple[Operator, Value]) -> Predicate:
    return Predicate(attribute, *condition)


@unhurried
@given(st.lists(publications, max_size=20), subscriptions)
def test_a_factor_is_a_share_and_the_product_of_those_of_the_attributes(
    sample: list[Publication], subscription: Subscription
) -> None:
    statistics = statistics_of(sample)
    factor = Selection(subscription).factor(statistics)
    assert 0 <= factor <= 1 + 1e-9
    product = 1.0
    for attribute in {predicate.attribute for predicate in subscription.predicates}:
        alone = tuple(predicate for predicate in subscription.predicates if predicate.attribute == attribute)
        product *= Selection(Subscription(alone)).factor(statistics)
    assert factor == pytest.approx(product)


many_numbers = st.lists(st.integers(0, 200) | st.floats(0, 200), min_size=30, max_size=60, unique=True)
many_strings = st.lists(st.text("abc", max_size=4), min_size=30, max_size=60, unique=True)

COMPLEMENTS = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.LESS: Operator.GREATER_OR_EQUAL,
    Operator.LESS_OR_EQUAL: Operator.GREATER,
    Operator.STRING_EQUAL: Operator.STRING_NOT_EQUAL,
    Operator.STRING_LESS: Operator.STRING_GREATER_OR_EQUAL,
    Operator.STRING_LESS_OR_EQUAL: Operator.STRING_GREATER,
}


@unhurried
@given(many_numbers | many_strings, st.data())
def test_a_condition_and_its_complement_share_the_values(sample: list[Value], data: st.DataObject) -> None:
    """Most of these values are not listed one by one."""
    distribution = statistics_of([Publication({"class": "", "x": value}) for value in sample]).attributes["x"]
    strings = isinstance(sample[0], str)
    operators = string_operators if strings else number_operators
    operator = data.draw(operators.filter(COMPLEMENTS.__contains__))
    value = data.draw(st.sampled_from(sample) | (st.text("abcd", max_size=4) if strings else st.integers(-1, 201)))
    share = attribute_factor([(operator, value)], distribution)
    rest = attribute_factor([(COMPLEMENTS[operator], value)], distribution)
    assert share + rest == pytest.approx(1)
    assert share >= 0 and rest >= 0


def test_an_interval_is_no_product() -> None:
    distribution = Distribution(
        histogram=guess_of("[x,>,0],[x,<,100]").histogram, numbers=guess_of("[x,>,0],[x,<,1]").numbers
    )
    assert attribute_factor([(Operator.GREATER, 25), (Operator.LESS_OR_EQUAL, 50)], distribution) == pytest.approx(0.25)
    assert attribute_factor([(Operator.GREATER, 50), (Operator.LESS, 25)], distribution) == 0


def guess_of(predicates: str) -> Distribution:
    return guess(parse_advertisement(f"[class,eq,'A'],{predicates}")).attributes["x"]


def test_a_number_has_no_greater_share_than_its_bucket() -> None:
    distribution = guess_of("[x,>=,0],[x,<=,100]")
    assert attribute_factor([(Operator.EQUAL, 50)], distribution) == pytest.approx(1 / 20)
    assert attribute_factor([(Operator.EQUAL, 101)], distribution) == 0
    both = [(Operator.GREATER_OR_EQUAL, 50), (Operator.LESS_OR_EQUAL, 50)]
    assert attribute_factor(both, distribution) == pytest.approx(1 / 20)


def test_operators_on_strings_hold_for_unlisted_values_as_for_listed_ones() -> None:
    sample = [f"{'ab'[number % 4 == 0]}{number:02}" for number in range(40)]
    distribution = statistics_of([Publication({"class": "", "x": value}) for value in sample]).attributes["x"]
    assert distribution.strings.others == 0.5
    begins = [(Operator.STRING_PREFIX, "b")]
    listed = sum(share for value, share in distribution.strings.listed if str(value).startswith("b"))
    assert attribute_factor(begins, distribution) == pytest.approx(2 * listed)
    assert attribute_factor([(Operator.STRING_EQUAL, "unseen")], distribution) == pytest.approx(1 / 40)


def test_nothing_is_known_of_an_attribute_without_statistics() -> None:
    nothing = Statistics(1.0, {})
    for text, factor in {
        "[x,=,1]": 1 / GUESSED_VALUES,
        "[x,<>,1]": 1 - 1 / GUESSED_VALUES,
        "[x,>,1]": GUESSED_RANGE,
        "[x,>,1],[x,<,3]": GUESSED_RANGE,
        "[x,eq,'a']": 1 / GUESSED_VALUES,
        "[x,str-prefix,'a'],[y,<,1]": GUESSED_RANGE**2,
        "[x,str-lt,'a'],[x,str-gt,'b']": 0,
        "[x,isPresent,0]": 1,
        "[x,isPresent,0],[x,eq,'a']": 0,
    }.items():
        assert Selection(parse_subscription(text)).factor(nothing) == pytest.approx(factor), text
