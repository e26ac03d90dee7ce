"""Content for property tests: few attributes and values, so that predicates meet, and every hard number."""

from __future__ import annotations

import math
import sys

from hypothesis import strategies as st

from broker_service.language import Number, Operator, Predicate, Subscription

NUMBER_OPERATORS = [
    Operator.EQUAL,
    Operator.NOT_EQUAL,
    Operator.LESS,
    Operator.LESS_OR_EQUAL,
    Operator.GREATER,
    Operator.GREATER_OR_EQUAL,
    Operator.PRESENT,
]
STRING_OPERATORS = [operator for operator in Operator if operator.name.startswith("STRING")] + [Operator.PRESENT]
ATTRIBUTES = ["class", "symbol", "price", "volume", "open"]

EVERYDAY_NUMBERS: list[Number] = [-1, -0.0, 0, 0.0, 1, 1.0, 1.5, 2, math.nextafter(1, 2), math.nextafter(0, -1)]
_EDGES = [2**53, -(2**53), 2**60, 10**400, -(10**400), int(sys.float_info.max), -int(sys.float_info.max)]
HARD_NUMBERS: list[Number] = [
    *(edge + step for edge in _EDGES for step in (-2, -1, 0, 1, 2)),
    *(float(edge) for edge in _EDGES if abs(edge) < 10**400),
]
STRINGS = ["", "a", "ab", "b", "ba", "\U00010000", "\uffff", "STOCK"]

hard_numbers = st.sampled_from(HARD_NUMBERS)
numbers = st.sampled_from(EVERYDAY_NUMBERS) | hard_numbers
strings = st.sampled_from(STRINGS)
values = numbers | strings
attributes = st.sampled_from(ATTRIBUTES)
number_predicates = st.builds(Predicate, attributes, st.sampled_from(NUMBER_OPERATORS), numbers)
string_predicates = st.builds(Predicate, attributes, st.sampled_from(STRING_OPERATORS), strings)
subscriptions = st.builds(
    Subscription,
    st.lists(number_predicates | string_predicates, max_size=5).map(tuple)
    | st.lists(number_predicates, max_size=2).map(tuple),
)
publications = st.builds(
    lambda kind, others: {**others, "class": kind},
    strings,
    st.dictionaries(attributes, values, max_size=len(ATTRIBUTES)),
)
