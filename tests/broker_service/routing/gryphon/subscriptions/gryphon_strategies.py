"""Conjunctions that often cover each other, for generated tests."""

from __future__ import annotations

from hypothesis import strategies as st

from broker_service.language import Operator, Predicate, Subscription
from broker_service.language.notation import parse_subscription
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction

_NUMBERS = (
    Operator.EQUAL,
    Operator.GREATER,
    Operator.LESS,
    Operator.LESS_OR_EQUAL,
    Operator.GREATER_OR_EQUAL,
    Operator.NOT_EQUAL,
)
_STRINGS = (
    Operator.STRING_EQUAL,
    Operator.STRING_LESS_OR_EQUAL,
    Operator.STRING_PREFIX,
    Operator.STRING_CONTAINS,
    Operator.PRESENT,
)

_on_numbers = st.builds(
    Predicate, st.sampled_from(("x", "y")), st.sampled_from(_NUMBERS), st.sampled_from((0, 1, 1.0, 2))
)
_on_strings = st.builds(
    Predicate, st.sampled_from(("class", "s")), st.sampled_from(_STRINGS), st.sampled_from(("", "a", "ab"))
)

conjunctions: st.SearchStrategy[Conjunction] = st.lists(_on_numbers | _on_strings, min_size=1, max_size=3).map(
    lambda predicates: Conjunction.of(Subscription(tuple(predicates)))
)


def conjunction(text: str) -> Conjunction:
    """The conjunction of a subscription in the notation."""
    return Conjunction.of(parse_subscription(text))
