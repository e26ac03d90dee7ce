"""Topics and filters: a filter lets through whatever its subscription matches, and as little else as equality tells."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.language import Operator, Predicate, Publication, Subscription
from broker_service.language.content import matches
from emulation.adapters.topics import filter_for, lets_through, topic_of, written

_ATTRIBUTES = ("class", "symbol", "price")
_texts = st.text(st.sampled_from("aB/+#*$%é"), max_size=3)
_numbers = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -0.0, 2.0, 1e300, 2**53, 2.0**53, 2**53 + 1]))
_publications = st.fixed_dictionaries(
    {"class": _texts}, optional={"symbol": st.one_of(_texts, _numbers), "price": _numbers}
).map(Publication)
_predicates = st.one_of(
    st.builds(
        Predicate,
        st.sampled_from(_ATTRIBUTES),
        st.sampled_from([Operator.STRING_EQUAL, Operator.STRING_PREFIX, Operator.STRING_NOT_EQUAL]),
        _texts,
    ),
    st.builds(Predicate, st.sampled_from(_ATTRIBUTES[1:]), st.sampled_from([Operator.EQUAL, Operator.LESS]), _numbers),
)
_subscriptions = st.lists(_predicates, min_size=1, max_size=3).map(lambda found: Subscription(tuple(found)))


@settings(max_examples=250, deadline=None)
@given(_publications, _subscriptions, st.integers(1, 3))
def test_a_filter_lets_through_whatever_its_subscription_matches(
    publication: Publication, subscription: Subscription, attributes: int
) -> None:
    names = _ATTRIBUTES[:attributes]
    if matches(subscription, publication):
        assert lets_through(filter_for(subscription, names), topic_of(publication, names))


@pytest.mark.parametrize(
    ("asked", "value", "through"),
    [
        (Predicate("symbol", Operator.STRING_EQUAL, "A"), "A", True),
        (Predicate("symbol", Operator.STRING_EQUAL, "A"), "B", False),
        (Predicate("symbol", Operator.EQUAL, 80), 80.0, True),
        (Predicate("symbol", Operator.EQUAL, 80), "80", False),
        (Predicate("symbol", Operator.EQUAL, 2**53), 2**53 + 1, False),
        (Predicate("symbol", Operator.STRING_EQUAL, "A"), None, False),
        (Predicate("symbol", Operator.STRING_PREFIX, "A"), "B", True),
        (Predicate("symbol", Operator.STRING_EQUAL, "é" * 4000), "é" * 4000, True),
    ],
)
def test_equality_alone_narrows_a_filter(asked: Predicate, value: str | float | None, through: bool) -> None:
    attributes = {"class": "C"} if value is None else {"class": "C", "symbol": value}
    chosen = filter_for(Subscription((asked,)), ("class", "symbol"))
    assert chosen[0] is None
    assert lets_through(chosen, topic_of(Publication(attributes), ("class", "symbol"))) is through


@pytest.mark.parametrize("text", ["a/b", "+", "#", "*", "$SYS", "", "?", "**", "é\0"])
def test_a_level_has_no_sign_that_means_something_to_a_system(text: str) -> None:
    level = written(topic_of(Publication({"class": text}), ("class",)), "+").removeprefix("brokerlab/")
    assert level
    assert not set(level) & set("/+#*$?\0")


def test_a_long_value_has_a_bounded_level_of_its_own() -> None:
    first, second = (topic_of(Publication({"class": letter * 9000}), ("class",)) for letter in "ab")
    assert first != second
    assert len(first[0]) < 100
