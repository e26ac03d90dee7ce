"""Content for property tests: few values, so that predicates meet, at and beside every boundary."""

from __future__ import annotations

import random

from hypothesis import settings
from hypothesis import strategies as st

from broker_service.language import Advertisement, Number, Operator, Predicate, Publication, Subscription, Value
from broker_service.language.composite import And, Atomic, Composite, Or, Variable, VariablePredicate, VariableType
from broker_service.language.model import NUMBER_OPERATORS, STRING_OPERATORS

unhurried = settings(deadline=None)
"""For every property here: how long an example takes is not what is tested."""

NUMBERS: list[Number] = [-1, 0, 0.5, 1.0, 1, 2, 10**30]
GRID: list[Number] = [-2, -1, -0.5, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 10**29, 10**30, 10**31]
"""Every one of `NUMBERS`, a number in every gap between two of them, and one beyond each end."""

BOUNDARY_CHARACTERS = "\0\x01ab\ud7ff\ue000\U0010fffe\U0010ffff"

number_operators = st.sampled_from(sorted(NUMBER_OPERATORS, key=lambda operator: operator.name))
string_operators = st.sampled_from(sorted(STRING_OPERATORS, key=lambda operator: operator.name))

short_strings = st.text(alphabet="\0ab\U0010ffff", max_size=3) | st.text(alphabet=BOUNDARY_CHARACTERS, max_size=2)
number_conditions = st.tuples(number_operators, st.sampled_from(NUMBERS))
string_conditions = st.tuples(string_operators, short_strings)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5) | st.sampled_from(
    ["price", "52week-high", "a'b", 'a"b', "a b", "[", "eq", "$S$X", "-1", "\n"]
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text("'\"[],\\\n &|{}", max_size=8)
_EDGES: list[Value] = [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0, 0.0, -0.0, "", 10**999, -(10**999)]
any_values: st.SearchStrategy[Value] = (
    st.integers()
    | st.integers(-(10**100), 10**100)
    | st.sampled_from(_EDGES)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)


@st.composite
def any_predicates(draw: st.DrawFn) -> Predicate:
    """Any predicate the model permits."""
    value = draw(any_values)
    operator = draw(string_operators if isinstance(value, str) else number_operators)
    return Predicate(draw(names), operator, value)


def binding(attribute: str, variable: Variable) -> VariablePredicate:
    """The predicate that gives a variable the value of an attribute."""
    operator = Operator.STRING_EQUAL if variable.type is VariableType.STRING else Operator.EQUAL
    return VariablePredicate(attribute, operator, variable)


def patterns(predicates: st.SearchStrategy[Predicate | VariablePredicate]) -> st.SearchStrategy[Composite]:
    """Patterns of up to six parts with such predicates."""
    return st.recursive(
        st.lists(predicates, min_size=1, max_size=3).map(lambda drawn: Atomic(tuple(drawn))),
        lambda parts: st.builds(
            lambda node, operands: node(tuple(operands)),
            st.sampled_from([And, Or]),
            st.lists(parts, min_size=2, max_size=3),
        ),
        max_leaves=6,
    )


any_subscriptions = st.lists(any_predicates(), min_size=1, max_size=5).map(lambda list_: Subscription(tuple(list_)))
any_publications = st.builds(
    lambda class_, others: Publication({"class": class_} | {k: v for k, v in others.items() if k != "class"}),
    texts,
    st.dictionaries(names, any_values, max_size=5),
)
any_advertisements = st.builds(
    lambda class_, others: Advertisement((Predicate("class", Operator.STRING_EQUAL, class_), *others)),
    texts,
    st.lists(any_predicates(), max_size=5),
)

# For the relations: three attributes, values that meet. Strings are so short that whatever a few predicates permit
# shows among strings of up to four characters: one for each part wanted, one at the beginning, one at the end.
_small_strings = st.sampled_from(["", "\0", "a", "b"])
small_predicates = st.builds(
    lambda attribute, condition: Predicate(attribute, *condition),
    st.sampled_from(["class", "x", "y"]),
    st.tuples(string_operators, _small_strings) | number_conditions,
) | st.builds(lambda condition: Predicate("class", *condition), st.tuples(string_operators, _small_strings))
small_subscriptions = st.lists(small_predicates, max_size=4).map(lambda list_: Subscription(tuple(list_)))
small_advertisements = st.builds(
    lambda condition, others: Advertisement((Predicate("class", *condition), *others)),
    st.tuples(string_operators, _small_strings) | number_conditions,
    st.lists(small_predicates, max_size=4),
)

variables = st.builds(Variable, st.sampled_from(VariableType), st.from_regex(r"[A-Za-z_][\w-]{0,5}", fullmatch=True))
variable_predicates = st.builds(
    lambda name, variable: VariablePredicate(
        name, Operator.STRING_EQUAL if variable.type is VariableType.STRING else Operator.LESS, variable
    ),
    names,
    variables,
)
composites = patterns(any_predicates() | variable_predicates)
"""Any pattern the model permits; some test variables that nothing binds."""

small_variables = st.builds(Variable, st.sampled_from(VariableType), st.sampled_from("XY"))
small_patterns = patterns(small_predicates | st.builds(binding, st.sampled_from("xy"), small_variables))
"""Patterns of few predicates, so that operands are equal now and then; each of their variables is bound."""


def rearranged(pattern: Composite, rng: random.Random) -> Composite:
    """The pattern with other orders and groupings, and operands of `||` and predicates repeated."""
    if isinstance(pattern, Atomic):
        predicates = [*pattern.predicates, rng.choice(pattern.predicates)]
        return Atomic(tuple(rng.sample(predicates, len(predicates))))
    operands = [rearranged(operand, rng) for operand in pattern.operands]
    if isinstance(pattern, Or):
        operands.append(rng.choice(operands))
    rng.shuffle(operands)
    node = type(pattern)
    while len(operands) > 2 and rng.random() < 0.5:
        operands = [node((operands[0], operands[1])), *operands[2:]]
        rng.shuffle(operands)
    return node(tuple(operands))
