"""Patterns of composite subscriptions, which look for several publications at once (Li, Muthusamy, Jacobsen,
Middleware 2008, section 4).

1. A *part* looks for one publication: conditions that it satisfies, and relations of its values to variables. `&` wants
   a publication for each operand, which may be the same one, and `||` one for any operand.
2. A variable is a string or a number, and those of different kinds are different, whatever their names. Equality and
   presence *bind* it to the publication's value; all publications of a set agree on it. Every other relation *tests* a
   value against the one that the variable is bound to.
3. Each way to fulfil a pattern binds the variables that it tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from analysis.judging.language.conditions import Conjunction, Relation, present
from analysis.judging.language.values import MAX_CONDITIONS, OutsideLanguageError

MAX_PARTS: Final = 64
"""Parts of a pattern; one that is written twice counts twice."""
MAX_VARIABLES: Final = 16
"""Variables of a pattern."""
MAX_DEPTH: Final = 32
"""Levels of `&` and `||` within each other, and that of the parts."""
MAX_WITHIN: Final = (1 << 63) - 1
"""Nanoseconds of the longest window."""

_BINDING = (Relation.EQUAL, Relation.PRESENT)


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A variable of a pattern."""

    name: str
    string: bool
    """True for a string, false for a number."""


@dataclass(frozen=True, slots=True)
class VariableRelation:
    """A relation of one attribute's value to a variable."""

    attribute: str
    relation: Relation
    variable: Variable

    @property
    def binds(self) -> bool:
        """True when the variable gets the value, false when the value is tested against it."""
        return self.relation in _BINDING


@dataclass(frozen=True, slots=True)
class Part:
    """Conditions and relations that a single publication has to satisfy."""

    conditions: Conjunction
    variables: tuple[VariableRelation, ...] = ()
    """In the order written."""

    @property
    def conjunction(self) -> Conjunction:
        """The conditions that a publication satisfies if it matches the part for some values of the variables."""
        kinds = [present(made.attribute, made.variable.string) for made in self.variables]
        return tuple(dict.fromkeys([*self.conditions, *kinds]))


@dataclass(frozen=True, slots=True)
class AllOf:
    """`&`: each operand is fulfilled."""

    operands: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`||`: some operand is fulfilled."""

    operands: tuple[Pattern, ...]


Pattern = Part | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Composite:
    """A composite subscription."""

    pattern: Pattern
    within: int
    """Nanoseconds between the first and the last publication of a set, at most."""


def parts_of(pattern: Pattern) -> tuple[Part, ...]:
    """The parts in the order written. Everything else knows a part by its place here."""
    return tuple(_parts(pattern))


def bound_by(pattern: Pattern) -> frozenset[Variable]:
    """The variables that each way to fulfil a pattern binds."""
    if isinstance(pattern, Part):
        return frozenset(made.variable for made in pattern.variables if made.binds)
    bound = [bound_by(operand) for operand in pattern.operands]
    return frozenset().union(*bound) if isinstance(pattern, AllOf) else frozenset.intersection(*bound)


def without_variables(pattern: Pattern) -> Pattern:
    """The pattern of which publications need not agree on variables."""
    if isinstance(pattern, Part):
        return Part(pattern.conjunction)
    return type(pattern)(tuple(map(without_variables, pattern.operands)))


def checked(pattern: Pattern, within: int) -> Composite:
    """The composite subscription, if it is one. Raises `OutsideLanguageError`. No pattern may be nested so deeply that
    Python could not recurse through it."""
    parts = parts_of(pattern)
    variables = {made.variable for part in parts for made in part.variables}
    if not 0 <= within <= MAX_WITHIN:
        raise OutsideLanguageError(f"a window of {within} ns")
    if len(parts) > MAX_PARTS:
        raise OutsideLanguageError(f"a pattern of {len(parts)} parts")
    if len(variables) > MAX_VARIABLES:
        raise OutsideLanguageError(f"a pattern of {len(variables)} variables")
    for part in parts:
        if not 0 < len(part.conditions) + len(part.variables) <= MAX_CONDITIONS:
            raise OutsideLanguageError(f"a part of {len(part.conditions) + len(part.variables)} predicates")
    for untested in _unbound(pattern, frozenset()):
        raise OutsideLanguageError(f"nothing binds the variable {untested.name} in some way to fulfil the pattern")
    return Composite(pattern, within)


def _parts(pattern: Pattern) -> Iterator[Part]:
    if isinstance(pattern, Part):
        yield pattern
    else:
        for operand in pattern.operands:
            yield from _parts(operand)


def _unbound(pattern: Pattern, bound: frozenset[Variable]) -> Iterator[Variable]:
    """The variables that are tested where they may be unbound. `bound` are those that each way to fulfil the whole
    pattern by this operand binds elsewhere."""
    if isinstance(pattern, Part):
        here = bound | bound_by(pattern)
        yield from (made.variable for made in pattern.variables if made.variable not in here)
        return
    for place, operand in enumerate(pattern.operands):
        others: Iterable[Pattern] = ()
        if isinstance(pattern, AllOf):
            others = (*pattern.operands[:place], *pattern.operands[place + 1 :])
        yield from _unbound(operand, bound.union(*map(bound_by, others)))
