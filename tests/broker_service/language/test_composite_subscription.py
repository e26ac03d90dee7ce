"""Composite subscriptions: their parts, what they bind, and the patterns that are refused as a whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import ContentError, Operator, Predicate, Publication, Subscription
from broker_service.language.composite import And, Atomic, Composite, Or, Variable, VariablePredicate, VariableType
from broker_service.language.composite_subscription import (
    MAX_PARTS,
    MAX_VARIABLES,
    MAX_WITHIN,
    CompositeSubscription,
    binds,
    guaranteed,
    parts_of,
    relaxed,
)
from broker_service.language.content import matches
from broker_service.language.notation import format_composite, parse_composite
from tests.broker_service.language.strategies import composites, small_patterns, unhurried

A, B = "[class,eq,'A']", "[class,eq,'B']"


def test_parts_come_in_the_order_of_the_text() -> None:
    pattern = parse_composite("{[class,eq,'A']}&{{[class,eq,'B']}||{[class,eq,'A']}}")
    assert [format_composite(part) for part in parts_of(pattern)] == [f"{{{text}}}" for text in (A, B, A)]


def test_a_part_is_routed_without_its_variables() -> None:
    (part,) = parts_of(parse_composite("[class,eq,'A'],[x,eq,$S$X],[x,neq,$S$Y],[y,<,$I$Z]"))
    assert relaxed(part) == Subscription(
        (
            Predicate("class", Operator.STRING_EQUAL, "A"),
            Predicate("x", Operator.PRESENT, ""),
            Predicate("y", Operator.PRESENT, 0),
        )
    )


def test_a_relaxed_part_wants_the_type_of_the_variable() -> None:
    (part,) = parts_of(parse_composite("[x,=,$I$X]"))
    assert matches(relaxed(part), Publication({"class": "A", "x": 1.5}))
    assert not matches(relaxed(part), Publication({"class": "A", "x": "1.5"}))


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("[x,eq,$S$X]", {"X"}),
        ("[x,isPresent,$S$X]", {"X"}),
        ("[x,neq,$S$X]", set()),
        ("[x,eq,$S$X] & [y,eq,$S$Y]", {"X", "Y"}),
        ("[x,eq,$S$X] || [y,eq,$S$Y]", set()),
        ("[x,eq,$S$X] & [z,eq,$S$Z] || [y,eq,$S$X]", {"X"}),
    ],
)
def test_variables_that_every_way_binds(text: str, bound: set[str]) -> None:
    assert {variable.name for variable in guaranteed(parse_composite(text))} == bound


@pytest.mark.parametrize(
    "text",
    [
        "[class,eq,'A'],[x,=,$I$X],[y,<,$I$X]",
        "[x,=,$I$X] & [y,<,$I$X]",
        "[x,<,$I$X] & [y,isPresent,$I$X]",
        "[x,=,$I$X] & ([y,<,$I$X] || [y,>,$I$X])",
        "([x,=,$I$X] || [z,=,$I$X]) & [y,<,$I$X]",
        "[x,=,$I$X] & [y,<,$I$X] || [class,eq,'B']",
        "[x,=,$I$X] || [y,=,$I$Y]",
    ],
)
def test_patterns_that_bind_what_they_test(text: str) -> None:
    assert CompositeSubscription(parse_composite(text)).within is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[class,eq,'A'] & [x,<,$I$X]",
            r"part 2, \{\[x,<,\$I\$X\]\}: nothing binds \$I\$X, which 'x' is compared with",
        ),
        ("[x,=,$I$X] || [y,<,$I$X]", r"part 2, .*nothing binds \$I\$X"),
        ("([x,=,$I$X] || [class,eq,'A']) & [y,<,$I$X]", r"part 3, .*nothing binds \$I\$X"),
        ("[y,<,$I$X] & ([x,=,$I$X] || [class,eq,'A'])", r"part 1, .*nothing binds \$I\$X"),
        ("[x,eq,$S$X] & [y,<,$I$X]", r"part 2, .*nothing binds \$I\$X"),
        ("[x,neq,$S$X] & [y,neq,$S$X]", r"bind it with \[ATTRIBUTE,eq,\$S\$X\] in this part"),
        ("[x,=,$I$X] & [x,=,$I$Y] || [z,=,$I$Z] & [y,<,$I$Y]", r"part 4, .*nothing binds \$I\$Y"),
    ],
)
def test_unbound_variables_are_refused(text: str, message: str) -> None:
    with pytest.raises(ContentError, match=message):
        CompositeSubscription(parse_composite(text))


def test_the_number_of_parts_is_bounded() -> None:
    part = Atomic((Predicate("class", Operator.STRING_EQUAL, "A"),))
    other = Atomic((Predicate("class", Operator.STRING_EQUAL, "B"),))
    CompositeSubscription(And((part,) * MAX_PARTS))
    with pytest.raises(ContentError, match=r"part 65, \{\[class,eq,'B'\]\}: there are 66 parts; .* at most 64"):
        CompositeSubscription(And((Or((part,) * MAX_PARTS), other, part)))


def test_the_number_of_variables_is_bounded() -> None:
    parts = [
        Atomic((VariablePredicate("x", Operator.EQUAL, Variable(VariableType.NUMBER, f"X{number}")),))
        for number in range(MAX_VARIABLES + 1)
    ]
    CompositeSubscription(And((*parts[:-1], parts[0])))
    with pytest.raises(ContentError, match=r"part 17, .*: \$I\$X16 is variable number 17; a pattern takes at most 16"):
        CompositeSubscription(And(tuple(parts)))


@pytest.mark.parametrize("within", [-1, MAX_WITHIN + 1])
def test_the_window_is_bounded(within: int) -> None:
    with pytest.raises(ContentError, match=f"a window of {within} ns"):
        CompositeSubscription(parse_composite(A), within)


def test_a_long_part_is_shortened() -> None:
    with pytest.raises(ContentError) as raised:
        CompositeSubscription(parse_composite(f"[x,eq,'{'a' * 4000}'],[y,<,$I$X]"))
    assert len(str(raised.value)) < 500


def _bound_by_the_ways(pattern: Composite) -> list[tuple[frozenset[Variable], frozenset[Variable]]]:
    """For each way to fulfil a pattern, the variables that it binds and those that it tests."""
    match pattern:
        case Atomic(predicates):
            variables = [predicate for predicate in predicates if isinstance(predicate, VariablePredicate)]
            return [
                (
                    frozenset(predicate.variable for predicate in variables if binds(predicate)),
                    frozenset(predicate.variable for predicate in variables if not binds(predicate)),
                )
            ]
        case Or(operands):
            return [way for operand in operands for way in _bound_by_the_ways(operand)]
        case And(operands):
            ways = [(frozenset[Variable](), frozenset[Variable]())]
            for operand in operands:
                ways = [(a | c, b | d) for a, b in ways for c, d in _bound_by_the_ways(operand)]
            return ways


@unhurried
@given(st.one_of(composites, small_patterns))
def test_refused_exactly_where_a_way_leaves_a_tested_variable_unbound(pattern: Composite) -> None:
    ways = _bound_by_the_ways(pattern)
    assert guaranteed(pattern) == frozenset.intersection(*(bound for bound, _ in ways))
    if all(tested <= bound for bound, tested in ways):
        CompositeSubscription(pattern)
    else:
        with pytest.raises(ContentError, match="nothing binds"):
            CompositeSubscription(pattern)
