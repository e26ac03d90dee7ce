"""Naive detection: the definition of a detection, too simple to be wrong, and independent of the detector's code.

    D(part)   = {({p}, b) : p matches the part with b}
    D(x || y) = D(x) | D(y)
    D(x & y)  = {(s | t, b | c) : (s, b) in D(x), (t, c) in D(y), b and c agree}

A test of a variable by another operator than equality is carried along until the pattern is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from broker_service.language import Operator, Predicate, Publication, Subscription, Value
from broker_service.language.composite import And, Atomic, Composite, Or, Variable, VariablePredicate, VariableType
from broker_service.language.content import TESTS, matches


@dataclass(frozen=True)
class Published:
    """A publication as its publisher made it."""

    id: str
    stamp: int
    attributes: Mapping[str, Value] = field(hash=False)


class Partial(NamedTuple):
    """Publications that fulfil a node, with what is known of the variables."""

    members: frozenset[Published]
    bindings: tuple[tuple[Variable, Value], ...]
    tests: tuple[tuple[Value, Operator, Variable], ...]


def detections(pattern: Composite, publications: Sequence[Published], within: int) -> set[frozenset[str]]:
    """The identifiers of each set of publications that is a detection."""
    found = set()
    for partial in _fulfilling(pattern, publications):
        stamps = [member.stamp for member in partial.members]
        bound = dict(partial.bindings)
        tested = all(TESTS[operator](value, bound[variable]) for value, operator, variable in partial.tests)
        if max(stamps) - min(stamps) <= within and tested:
            found.add(frozenset(member.id for member in partial.members))
    return found


def _fulfilling(pattern: Composite, publications: Sequence[Published]) -> Iterator[Partial]:
    match pattern:
        case Atomic():
            yield from filter(None, (_filling(pattern, publication) for publication in publications))
        case Or(operands):
            for operand in operands:
                yield from _fulfilling(operand, publications)
        case And(operands):
            for combination in product(*([*_fulfilling(operand, publications)] for operand in operands)):
                together = [binding for partial in combination for binding in partial.bindings]
                if _agree(together):
                    members = frozenset().union(*(partial.members for partial in combination))
                    tests = tuple(test for partial in combination for test in partial.tests)
                    yield Partial(members, tuple(together), tests)


def _filling(part: Atomic, publication: Published) -> Partial | None:
    fixed = Subscription(tuple(predicate for predicate in part.predicates if isinstance(predicate, Predicate)))
    if not matches(fixed, Publication(publication.attributes)):
        return None
    bindings: list[tuple[Variable, Value]] = []
    tests: list[tuple[Value, Operator, Variable]] = []
    for predicate in part.predicates:
        if isinstance(predicate, VariablePredicate):
            value = publication.attributes.get(predicate.attribute)
            if value is None or isinstance(value, str) is not (predicate.variable.type is VariableType.STRING):
                return None
            if predicate.operator in (Operator.EQUAL, Operator.STRING_EQUAL, Operator.PRESENT):
                bindings.append((predicate.variable, value))
            else:
                tests.append((value, predicate.operator, predicate.variable))
    return Partial(frozenset({publication}), tuple(bindings), tuple(tests)) if _agree(bindings) else None


def _agree(bindings: Sequence[tuple[Variable, Value]]) -> bool:
    values: dict[Variable, Value] = {}
    return all(values.setdefault(variable, value) == value for variable, value in bindings)


@dataclass
class _Interest:
    pattern: Composite
    within: int
    arrived: dict[Published, int] = field(default_factory=dict)
    """Publications that have not been dropped yet, with the times of their arrival."""


class NaiveDetector:
    """The oracle of `Detector`, without bounds: it computes all detections before and after each arrival."""

    def __init__(self, clock: Callable[[], int], lateness: int) -> None:
        self._clock = clock
        self._lateness = lateness
        self._interests: dict[str, _Interest] = {}

    def add(self, id: str, pattern: Composite, within: int) -> None:
        self._interests[id] = _Interest(pattern, within)

    def remove(self, id: str) -> None:
        self._interests.pop(id, None)

    def arrive(self, publication: Published) -> set[tuple[str, frozenset[str]]]:
        """Composite subscriptions and the identifiers of publications that are complete now and were not before."""
        new = set()
        for id, interest in self._interests.items():
            last = self._clock() - interest.within - self._lateness
            interest.arrived = {kept: time for kept, time in interest.arrived.items() if time >= last}
            before = detections(interest.pattern, [*interest.arrived], interest.within)
            interest.arrived.setdefault(publication, self._clock())
            after = detections(interest.pattern, [*interest.arrived], interest.within)
            new |= {(id, members) for members in after - before}
        return new
