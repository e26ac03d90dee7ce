"""Patterns and publications for property tests: few values, so that parts meet, share variables, and overlap."""

from __future__ import annotations

from hypothesis import strategies as st

from broker_service.language import ContentError, Operator, Predicate, Value
from broker_service.language.composite import And, Atomic, Composite, Or, Variable, VariablePredicate, VariableType
from broker_service.language.composite_subscription import CompositeSubscription
from tests.broker_service.detection.naive import Published
from tests.broker_service.language.strategies import binding

MOST_PUBLICATIONS = 6
MOST_LEAVES = 4
LATEST = 6
"""Greatest stamp and greatest window."""

_TEXT, _NUMBER = VariableType.STRING, VariableType.NUMBER
_variables = st.sampled_from([Variable(_TEXT, "X"), Variable(_NUMBER, "X"), Variable(_NUMBER, "Y")])
_numbers: list[Value] = [0, 1, 1.0, 2]
_texts: list[Value] = ["a", "b"]

windows = st.integers(0, LATEST)


@st.composite
def _variable_predicates(draw: st.DrawFn) -> VariablePredicate:
    variable = draw(_variables)
    attribute = draw(st.sampled_from(["class", "s"] if variable.type is _TEXT else ["x", "y"]))
    if draw(st.integers(0, 4)):
        return binding(attribute, variable)
    others = [Operator.STRING_NOT_EQUAL, Operator.STRING_LESS] if variable.type is _TEXT else [Operator.LESS]
    return VariablePredicate(attribute, draw(st.sampled_from([*others, Operator.PRESENT])), variable)


_parts = st.builds(
    lambda name, others: Atomic((Predicate("class", Operator.STRING_EQUAL, name), *others)),
    st.sampled_from("AB"),
    st.lists(_variable_predicates() | st.just(Predicate("x", Operator.GREATER, 0)), max_size=2),
) | _variable_predicates().map(lambda predicate: Atomic((predicate,)))


def _sound(pattern: Composite) -> bool:
    try:
        CompositeSubscription(pattern)
    except ContentError:
        return False
    return True


patterns = st.recursive(
    _parts,
    lambda operands: st.builds(
        lambda node, drawn: node(tuple(drawn)),
        st.sampled_from([And, And, Or]),
        st.lists(operands, min_size=2, max_size=3),
    ),
    max_leaves=MOST_LEAVES,
).filter(_sound)
"""Patterns of up to four levels; variables are shared, and some are tested for other things than equality."""


@st.composite
def publications(draw: st.DrawFn) -> list[Published]:
    """Publications with equal and different stamps, in the order of their names."""
    return [
        Published(
            f"p{number}",
            draw(st.integers(0, LATEST)),
            {
                "class": draw(st.sampled_from("AB")),
                **{name: draw(st.sampled_from(_numbers + _texts)) for name in "xy"},
                "s": draw(st.sampled_from("AB")),
            },
        )
        for number in range(draw(st.integers(1, MOST_PUBLICATIONS)))
    ]
