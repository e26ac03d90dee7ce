"""The relation cases' expectations, against trying out: every combination of a few values that lie about their texts'.

Samples can only refute. A publication that matches the right of a `covers` and not the left shows that it must be
false, one that meets both sides of an `intersects` that it must be true; a `matches` is decided. Evaluation is written
anew here, so that a mistake in the content model cannot hide behind itself.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_service.language import Predicate, Value
from broker_service.language.notation import parse_advertisement, parse_publication, parse_subscription
from studies.conformance.model import Relation
from studies.conformance.reading import read

Attributes = dict[str, Value]

CASES = [
    case
    for path in sorted(Path(__file__).parent.glob("relations-*.json"))
    for case in read(path)
    if isinstance(case, Relation)
]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "eq": operator.eq,
    "neq": operator.ne,
    "str-lt": operator.lt,
    "str-le": operator.le,
    "str-gt": operator.gt,
    "str-ge": operator.ge,
    "str-prefix": lambda value, part: value.startswith(part),
    "str-postfix": lambda value, part: value.endswith(part),
    "str-contains": lambda value, part: part in value,
    "isPresent": lambda value, sample: True,
}


def holds(predicate: Predicate, value: Value) -> bool:
    if isinstance(value, str) != isinstance(predicate.value, str):
        return False
    return OPERATORS[predicate.operator.value](value, predicate.value)


def meets(predicates: tuple[Predicate, ...], attributes: Attributes) -> bool:
    """True when a publication matches a subscription: every predicate holds, of an attribute that is there."""
    return all(
        predicate.attribute in attributes and holds(predicate, attributes[predicate.attribute])
        for predicate in predicates
    )


def conforms(predicates: tuple[Predicate, ...], attributes: Attributes) -> bool:
    """True when a publication conforms to an advertisement: nothing unadvertised, and what is there satisfies its
    predicates."""
    named = {predicate.attribute for predicate in predicates}
    return attributes.keys() <= named and all(
        holds(predicate, attributes[predicate.attribute])
        for predicate in predicates
        if predicate.attribute in attributes
    )


def samples(predicates: tuple[Predicate, ...]) -> Iterator[Attributes]:
    """Publications with values at, beside, around and between those of the predicates, or without the attribute."""
    by_attribute: dict[str, list[Value]] = {"class": ["", "q"]}
    for predicate in predicates:
        by_attribute.setdefault(predicate.attribute, [None, "q", 0])  # type: ignore[list-item]
    for name, values in by_attribute.items():
        texts = [
            predicate.value
            for predicate in predicates
            if predicate.attribute == name and isinstance(predicate.value, str)
        ]
        numbers = [
            predicate.value
            for predicate in predicates
            if predicate.attribute == name and not isinstance(predicate.value, str)
        ]
        values += [variant for text in texts for variant in (text, text + "\0", text + "q", "q" + text, text[:-1])]
        values += [left + right for left, right in itertools.permutations(texts, 2)]
        values += [variant for number in numbers for variant in (number, number - 0.5, number + 0.5)]
        values += [(left + right) / 2 for left, right in itertools.combinations(numbers, 2)]
    for chosen in itertools.product(*by_attribute.values()):
        attributes = {name: value for name, value in zip(by_attribute, chosen, strict=True) if value is not None}
        if isinstance(attributes.get("class"), str):
            yield attributes


def refuted(case: Relation) -> bool:
    """True when trying out shows the expectation to be wrong."""
    right = parse_subscription(case.right).predicates if case.relation != "matches" else ()
    if case.relation == "matches":
        publication = dict(parse_publication(case.right).attributes)
        return meets(parse_subscription(case.left).predicates, publication) != case.expect
    if case.relation == "covers":
        left = parse_subscription(case.left).predicates
        escapes = any(meets(right, sample) and not meets(left, sample) for sample in samples((*left, *right)))
        return case.expect and escapes
    if case.left_is == "subscription":
        left = parse_subscription(case.left).predicates
        return not case.expect and any(
            meets(left, sample) and meets(right, sample) for sample in samples((*left, *right))
        )
    left = parse_advertisement(case.left).predicates
    return not case.expect and any(
        conforms(left, sample) and meets(right, sample) for sample in samples((*left, *right))
    )


def test_there_are_relation_cases_of_every_kind() -> None:
    kinds = {(case.relation, case.left_is, case.expect) for case in CASES}
    assert len(kinds) == 8, "matches, covers, intersects in both readings; true and false"
    assert len(CASES) >= 150
    operators = {word for word in OPERATORS if any(f",{word}," in case.left + case.right for case in CASES)}
    assert operators == OPERATORS.keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_no_sample_refutes_the_expectation(case: Relation) -> None:
    assert not refuted(case)


def test_samples_decide_nearly_every_case() -> None:
    """The samples are worth their name: with the expectation turned round, they refute nearly every case they can."""
    decidable = [case for case in CASES if case.relation == "matches" or case.expect == (case.relation == "intersects")]
    decided = [case for case in decidable if refuted(case.model_copy(update={"expect": not case.expect}))]
    undecided = [case.id for case in decidable if case not in decided]
    assert len(undecided) <= 0.05 * len(decidable), undecided
