"""Satisfiability over all strings, against automata and against enumeration."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from broker_service.language import Operator
from broker_service.language.content import TESTS
from broker_service.language.model import MAX_PREDICATE_TEXT
from broker_service.language.string_sets import Condition, escapable, satisfiable
from tests.broker_service.language.automata import some_string
from tests.broker_service.language.strategies import string_conditions, unhurried

EQ, NEQ = Operator.STRING_EQUAL, Operator.STRING_NOT_EQUAL
LT, LE = Operator.STRING_LESS, Operator.STRING_LESS_OR_EQUAL
GT, GE = Operator.STRING_GREATER, Operator.STRING_GREATER_OR_EQUAL
PREFIX, POSTFIX, CONTAINS = Operator.STRING_PREFIX, Operator.STRING_POSTFIX, Operator.STRING_CONTAINS
PRESENT = Operator.PRESENT
LAST = "\U0010ffff"

conjunctions = st.lists(string_conditions, max_size=4)


def _literals(conditions: list[Condition], denied: Condition | None = None) -> list[tuple[Operator, str, bool]]:
    return [(*condition, True) for condition in conditions] + ([(*denied, False)] if denied else [])


@settings(unhurried, max_examples=400)
@given(conjunctions)
def test_satisfiable_equals_the_product_automaton(conditions: list[Condition]) -> None:
    assert satisfiable(conditions) == (some_string(_literals(conditions)) is not None)


@settings(unhurried, max_examples=1000)
@given(conjunctions, string_conditions)
@example([(GE, "ab"), (LT, "ac\0"), (CONTAINS, "x")], (PREFIX, "ab"))
@example([(GE, "ab"), (LT, "ac\0")], (CONTAINS, "b"))
def test_escapable_equals_the_product_automaton(conditions: list[Condition], condition: Condition) -> None:
    assert escapable(conditions, condition) == (some_string(_literals(conditions, condition)) is not None)


SHORT = ["".join(letters) for length in range(4) for letters in itertools.product("\0ab" + LAST, repeat=length)]


@unhurried
@given(conjunctions, string_conditions)
def test_no_short_string_contradicts(conditions: list[Condition], condition: Condition) -> None:
    met = [text for text in SHORT if all(TESTS[operator](text, value) for operator, value in conditions)]
    if met:
        assert satisfiable(conditions)
    operator, value = condition
    if any(not TESTS[operator](text, value) for text in met):
        assert escapable(conditions, condition)


STRING_OPERATORS = [EQ, NEQ, LT, LE, GT, GE, PREFIX, POSTFIX, CONTAINS, PRESENT]


@pytest.mark.parametrize("left", STRING_OPERATORS)
@pytest.mark.parametrize("right", STRING_OPERATORS)
def test_every_pair_of_operators(left: Operator, right: Operator) -> None:
    values = ["", "\0", "a", "a\0", "ab", "b", "ba", LAST]
    for one, other in itertools.product(values, repeat=2):
        pair = [(left, one), (right, other)]
        assert satisfiable(pair) == (some_string(_literals(pair)) is not None), pair
        assert escapable(pair[:1], pair[1]) == (some_string(_literals(pair[:1], pair[1])) is not None), pair


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([(LT, "")], False),
        ([(LE, "")], True),
        ([(LE, ""), (NEQ, "")], False),
        ([(GT, "a"), (LT, "a\0")], False),
        ([(GT, "a"), (LT, "a\0\0")], True),
        ([(GT, "a"), (LT, "a\0\0"), (NEQ, "a\0")], False),
        ([(GT, "a"), (LT, "a\0\x01"), (NEQ, "a\0")], True),
        ([(GT, LAST * 3)], True),
        ([(PREFIX, LAST), (POSTFIX, "a")], True),
        ([(PREFIX, LAST), (LT, LAST)], False),
        ([(PREFIX, "\ud7ff"), (GE, "\ue000")], False),
        ([(GT, "\ud7ff"), (LT, "\ue000"), (POSTFIX, "z")], True),
        ([(POSTFIX, "ab"), (POSTFIX, "b"), (CONTAINS, "zz")], True),
        ([(POSTFIX, "ab"), (POSTFIX, "cb")], False),
        ([(GE, "a"), (LE, "a\0\0"), (CONTAINS, "\0\0")], True),
        ([(GE, "a"), (LE, "a\0\0"), (CONTAINS, "b")], False),
        ([(EQ, "STOCK"), (PREFIX, "ST"), (POSTFIX, "OCK"), (CONTAINS, "TOC"), (NEQ, "stock")], True),
    ],
)
def test_satisfiable_by_hand(conditions: list[Condition], expected: bool) -> None:
    assert satisfiable(conditions) is expected


@pytest.mark.parametrize(
    ("conditions", "implied", "expected"),
    [
        ([(PREFIX, "ab")], (PREFIX, "a"), True),
        ([(PREFIX, "ab")], (CONTAINS, "b"), True),
        ([(PREFIX, "a")], (PREFIX, "ab"), False),
        ([(GE, "ab"), (LT, "ac")], (PREFIX, "ab"), True),
        ([(GE, "ab"), (LE, "ac")], (PREFIX, "ab"), False),
        ([(GE, "ab"), (LE, "ac"), (NEQ, "ac")], (PREFIX, "ab"), True),
        ([(GE, "ab"), (LE, "ac"), (POSTFIX, "b")], (PREFIX, "ab"), True),
        ([(GE, "ab"), (LT, "ad")], (CONTAINS, "a"), True),
        ([(GE, "ab"), (LT, "ad")], (CONTAINS, "b"), False),
        ([(POSTFIX, "cab")], (POSTFIX, "ab"), True),
        ([(POSTFIX, "ab")], (POSTFIX, "cab"), False),
        ([(CONTAINS, "cab")], (CONTAINS, "ab"), True),
        ([(PREFIX, "\ud7ff")], (LT, "\ue000"), True),
        ([(GE, "\ud7ff"), (LT, "\ue000")], (PREFIX, "\ud7ff"), True),
        ([(GE, "a" + LAST)], (PREFIX, "a" + LAST), False),
        ([(GE, "a" + LAST), (LT, "b")], (PREFIX, "a" + LAST), True),
        ([(GT, "a")], (GE, "a\0"), True),
        ([(GE, "")], (PRESENT, "x"), True),
    ],
)
def test_implication_by_hand(conditions: list[Condition], implied: Condition, expected: bool) -> None:
    assert escapable(conditions, implied) is not expected


def test_the_largest_conjunctions_keep_nobody_busy() -> None:
    """256 predicates of 4,096 characters on one attribute, where there are strings outside all cones only: were each
    of these tried with each predicate, that would take minutes, and a broker does nothing else meanwhile."""
    began = time.process_time()
    below = (LT, "\0" * MAX_PREDICATE_TEXT)
    parts = [(CONTAINS, "\0" * (2048 + number)) for number in range(254)]
    assert satisfiable([below, *parts])
    assert not satisfiable([below, *parts, (CONTAINS, "\0" * 2000 + "b")])
    assert satisfiable([below, *((NEQ, "\0" * number) for number in range(254))])
    assert not escapable([below, *parts], (CONTAINS, "\0" * 2301))
    assert escapable([below, *parts], (CONTAINS, "\0" * 2302))
    assert time.process_time() - began < 15
