"""Content that the constructors refuse, with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from broker_service.language import (
    Advertisement,
    ContentError,
    Operator,
    Predicate,
    Publication,
    Subscription,
    operator_named,
)
from broker_service.language.composite import MAX_DEPTH, And, Atomic, Composite, Or, Variable, VariableType
from broker_service.language.model import (
    MAX_ADVERTISED_PREDICATES,
    MAX_ATTRIBUTES,
    MAX_INTEGER_DIGITS,
    MAX_NAME_LENGTH,
    MAX_PREDICATE_TEXT,
    MAX_PREDICATES,
    NUMBER_OPERATORS,
    STRING_OPERATORS,
)

PRICE = Predicate("price", Operator.GREATER, 80)
STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")


def predicates(count: int) -> tuple[Predicate, ...]:
    """Predicates of this number, each on an attribute of its own."""
    return tuple(Predicate(f"a{number}", Operator.GREATER, 0) for number in range(count))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Predicate("", Operator.LESS, 1), "name of 0 characters; it takes 1 to 256"),
        (lambda: Predicate("n" * (MAX_NAME_LENGTH + 1), Operator.LESS, 1), "name of 257 characters"),
        (lambda: Predicate("\ud800", Operator.LESS, 1), "lone surrogate"),
        (lambda: Predicate(5, Operator.LESS, 1), "must be a string, not int"),  # type: ignore[arg-type]
        (lambda: Predicate("price", Operator.LESS, math.nan), "not a finite number"),
        (lambda: Predicate("price", Operator.LESS, -math.inf), "not a finite number"),
        (lambda: Predicate("price", Operator.LESS, True), "not a bool"),
        (lambda: Predicate("price", Operator.LESS, np.float64(1)), "not a float64"),
        (lambda: Predicate("price", Operator.LESS, 10**MAX_INTEGER_DIGITS), "at most 1000 digits"),
        (lambda: Predicate("price", Operator.LESS, "5"), "'<' does not go with the string '5'; use one of: eq neq"),
        (lambda: Predicate("price", Operator.STRING_EQUAL, 5), "'eq' does not go with the number 5; use one of: = <>"),
        (lambda: Predicate("s", Operator.STRING_EQUAL, "\udfff"), "lone surrogate"),
        (lambda: Predicate("s", Operator.STRING_EQUAL, "x" * (MAX_PREDICATE_TEXT + 1)), "at most 4096"),
        (lambda: Subscription((PRICE,) * (MAX_PREDICATES + 1)), "at most 256"),
        (lambda: Advertisement((STOCK, *predicates(MAX_ADVERTISED_PREDICATES))), "at most 1024"),
        (lambda: Advertisement((STOCK, *(PRICE,) * (MAX_PREDICATES + 1))), "257 predicates on attribute 'price'"),
        (lambda: Advertisement((PRICE,)), "must name the attribute 'class'; add for example"),
        (lambda: Publication({"price": 5}), "must carry the attribute 'class'"),
        (lambda: Publication({"class": 5}), "must be a string, not 5; put it in quotes"),
        (lambda: Publication({"class": "S", "": 5}), "name of 0 characters"),
        (lambda: Publication({"class": "S", "price": math.inf}), "attribute 'price': inf is not a finite number"),
        (lambda: Publication({"class": "S", "price": None}), "not a NoneType"),  # type: ignore[dict-item]
        (lambda: Publication({"class": "\ud800"}), "lone surrogate"),
        (lambda: Publication({"class": "S"} | {f"a{n}": n for n in range(MAX_ATTRIBUTES)}), "at most 256"),
        (lambda: Publication({"class": "S", "price": -(10**MAX_INTEGER_DIGITS)}), "at most 1000 digits"),
        (lambda: Atomic(()), "takes 1 to 256"),
        (lambda: And((Atomic((PRICE,)),)), "two operands or more, not 1"),
        (lambda: Variable(VariableType.STRING, ""), "'' cannot name a variable"),
        (lambda: Variable(VariableType.STRING, "a]"), "begin with a letter"),
    ],
)
def test_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ContentError) as caught:
        make()
    assert message in str(caught.value)


def test_permitted_at_the_limits() -> None:
    Predicate("n" * MAX_NAME_LENGTH, Operator.STRING_PREFIX, "\U0010ffff" * MAX_PREDICATE_TEXT)
    Subscription((PRICE,) * MAX_PREDICATES)
    Advertisement((STOCK, *(PRICE,) * MAX_PREDICATES))
    Advertisement((STOCK, *predicates(MAX_ADVERTISED_PREDICATES - 1)))
    Subscription(())
    Publication({"class": ""} | {f"a{n}": 10**MAX_INTEGER_DIGITS - 1 for n in range(MAX_ATTRIBUTES - 1)})


def test_every_operator_goes_with_its_types_only() -> None:
    assert {Operator.PRESENT} == NUMBER_OPERATORS & STRING_OPERATORS
    assert set(Operator) == NUMBER_OPERATORS | STRING_OPERATORS
    for operator in Operator:
        for value, fitting in ((1, NUMBER_OPERATORS), (1.5, NUMBER_OPERATORS), ("a", STRING_OPERATORS)):
            if operator in fitting:
                assert Predicate("x", operator, value).value == value
                assert operator_named(operator.value, value) is operator
            else:
                with pytest.raises(ContentError, match="does not go with"):
                    Predicate("x", operator, value)


@pytest.mark.parametrize(("word", "operator"), [("eq", Operator.EQUAL), ("neq", Operator.NOT_EQUAL)])
def test_words_that_serve_numbers_too(word: str, operator: Operator) -> None:
    assert operator_named(word, 5) is operator


def test_an_unknown_word_is_told_from_a_misfit() -> None:
    with pytest.raises(ContentError, match="'like' is not an operator; use one of: eq"):
        operator_named("like", "a")
    with pytest.raises(ContentError, match="'str-lt' does not go with a number"):
        operator_named("str-lt", 1)


def test_the_depth_of_composites_is_bounded() -> None:
    leaf = Atomic((PRICE,))
    composite: Composite = leaf
    for level in range(MAX_DEPTH - 1):
        composite = (And if level % 2 else Or)((composite, leaf))
    assert composite.depth == MAX_DEPTH
    with pytest.raises(ContentError, match="nested deeper than 32 levels"):
        And((leaf, composite))
