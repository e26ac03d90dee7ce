"""Slots: places for the values that publications of one detection have to agree on, or are compared by.

A pattern has one slot for each variable and one for each test of a variable against a value of another publication. A
search fills slots as it goes; a test is made as soon as both of its slots are filled.

    [x,=,$I$X] & [y,<,$I$X],[z,=,$I$Z]      slots: 0 for X, 1 for Z, 2 for y, which is tested against slot 0
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from broker_service.language import Value
from broker_service.language.composite import Atomic, Variable, VariablePredicate, VariableType
from broker_service.language.composite_subscription import binds, variable_predicates
from broker_service.language.content import TESTS

Slot = int

Values = tuple[Value | None, ...]
"""Values of all slots of a pattern; None in those that are not filled yet."""


@dataclass(frozen=True, slots=True)
class SlotTest:
    """A test of the value in one slot against the value of a variable in another."""

    tested: Slot
    variable: Slot
    holds: Callable[[Any, Any], bool]


class Slots:
    """All slots of a pattern."""

    def __init__(self) -> None:
        self.count = 0
        self._variables: dict[Variable, Slot] = {}
        self._tests: dict[Slot, list[SlotTest]] = {}
        """Tests by each of their slots."""

    def of(self, variable: Variable) -> Slot:
        """The slot of a variable."""
        if variable not in self._variables:
            self._variables[variable] = self._new()
        return self._variables[variable]

    def tested(self, predicate: VariablePredicate) -> Slot:
        """A slot for the values that a predicate tests against its variable."""
        test = SlotTest(self._new(), self.of(predicate.variable), TESTS[predicate.operator])
        for slot in (test.tested, test.variable):
            self._tests.setdefault(slot, []).append(test)
        return test.tested

    def tests(self, slots: tuple[Slot, ...]) -> tuple[SlotTest, ...]:
        """Tests that have one of these slots, each once."""
        return tuple(dict.fromkeys(test for slot in slots for test in self._tests.get(slot, ())))

    def _new(self) -> Slot:
        self.count += 1
        return self.count - 1


class _Field(NamedTuple):
    """An attribute whose value has the type of a variable."""

    attribute: str
    is_text: bool


class _OwnTest(NamedTuple):
    """A test of an attribute against the value of a slot that the same publication fills."""

    field: _Field
    place: int
    """Place of that slot in `PartReader.slots`."""
    holds: Callable[[Any, Any], bool]


class PartReader:
    """Values of a publication for the slots of one part.

    The predicates without variables are not tested here, because the publication was routed by them.
    """

    def __init__(self, part: Atomic, slots: Slots) -> None:
        predicates = variable_predicates(part)
        self._fields: list[_Field] = []
        """Attribute for each slot."""
        self._own_tests: list[_OwnTest] = []
        places: dict[Variable, int] = {}
        for predicate in filter(binds, predicates):
            if predicate.variable in places:
                self._own_tests.append(_OwnTest(_field(predicate), places[predicate.variable], operator.eq))
            else:
                places[predicate.variable] = len(places)
                self._fields.append(_field(predicate))
        self.bound: tuple[Slot, ...] = tuple(map(slots.of, places))
        """Slots of the variables that the part binds."""
        tested: list[Slot] = []
        for predicate in itertools.filterfalse(binds, predicates):
            if predicate.variable in places:
                place = places[predicate.variable]
                self._own_tests.append(_OwnTest(_field(predicate), place, TESTS[predicate.operator]))
            else:
                tested.append(slots.tested(predicate))
                self._fields.append(_field(predicate))
        self.slots: tuple[Slot, ...] = (*self.bound, *tested)
        """Slots that a publication of this part fills."""

    def read(self, attributes: Mapping[str, Value]) -> tuple[Value, ...] | None:
        """Values in the order of `slots`; None for a publication that the part does not match."""
        values = []
        for attribute, is_text in self._fields:
            value = attributes.get(attribute)  # as in `_read`, whose call would take as long as the rest
            if value is None or (type(value) is str) is not is_text:
                return None
            values.append(value)
        for own, place, holds in self._own_tests:
            value = _read(attributes, own)
            if value is None or not holds(value, values[place]):
                return None
        return tuple(values)


def _read(attributes: Mapping[str, Value], field: _Field) -> Value | None:
    """The value of an attribute; None where it is missing or of the other type."""
    value = attributes.get(field.attribute)
    return value if value is None or (type(value) is str) is field.is_text else None


def _field(predicate: VariablePredicate) -> _Field:
    return _Field(predicate.attribute, predicate.variable.type is VariableType.STRING)
