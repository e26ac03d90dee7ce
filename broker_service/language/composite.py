"""Composite subscriptions: patterns of several publications (Li, Muthusamy, Jacobsen, Middleware 2008, section 4).

An atomic part matches single publications; `And` wants a publication for each operand, `Or` one for any of them. A
variable stands in a predicate where a value would: all publications of one detection agree on what it stands for.
Structure is kept as written, except that a chain of one operator is one node: `a & b & c` has three operands.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field

from broker_service.language.model import (
    MAX_PREDICATES,
    NUMBER_OPERATORS,
    STRING_OPERATORS,
    ContentError,
    Operator,
    Predicate,
    Value,
    check_name,
    shortened,
)

MAX_DEPTH = 32
"""Levels of `And` and `Or` within each other, plus one."""

_VARIABLE_NAME = re.compile(r"[^\W\d][\w-]{0,63}")


class VariableType(enum.Enum):
    """The kinds of variables; a member's value is the letter in the notation."""

    STRING = "S"
    NUMBER = "I"

    @property
    def sample(self) -> Value:
        """A value of this type, for predicates whose meaning depends on the type alone."""
        return "" if self is VariableType.STRING else 0


@dataclass(frozen=True, slots=True)
class Variable:
    """`$S$name` or `$I$name`. Variables of one name and different types are different."""

    type: VariableType
    name: str

    def __post_init__(self) -> None:
        if not _VARIABLE_NAME.fullmatch(self.name):
            raise ContentError(
                f"{shortened(self.name)} cannot name a variable",
                "begin with a letter or '_'; letters, digits, '_' and '-' may follow",
            )


@dataclass(frozen=True, slots=True)
class VariablePredicate:
    """A condition on one attribute against a variable, for example `[symbol,eq,$S$X]`."""

    attribute: str
    operator: Operator
    variable: Variable

    def __post_init__(self) -> None:
        check_name(self.attribute)
        fitting = STRING_OPERATORS if self.variable.type is VariableType.STRING else NUMBER_OPERATORS
        if self.operator not in fitting:
            words = " ".join(operator.value for operator in Operator if operator in fitting)
            raise ContentError(
                f"attribute {self.attribute!r}: {self.operator.value!r} does not go with a "
                f"{self.variable.type.name.lower()} variable",
                f"use one of: {words}",
            )


@dataclass(frozen=True, slots=True)
class Atomic:
    """A conjunction of predicates, at least one, on a single publication."""

    predicates: tuple[Predicate | VariablePredicate, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.predicates) <= MAX_PREDICATES:
            raise ContentError(f"{len(self.predicates)} predicates", f"a conjunction takes 1 to {MAX_PREDICATES}")

    @property
    def depth(self) -> int:
        """Levels of nesting: an atomic part has one."""
        return 1


@dataclass(frozen=True, slots=True)
class And:
    """Every operand is detected."""

    operands: tuple[Composite, ...]
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _depth(self.operands))


@dataclass(frozen=True, slots=True)
class Or:
    """Some operand is detected."""

    operands: tuple[Composite, ...]
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _depth(self.operands))


Composite = Atomic | And | Or


def _depth(operands: tuple[Composite, ...]) -> int:
    if len(operands) < 2:
        raise ContentError(f"'&' and '||' take two operands or more, not {len(operands)}")
    depth = 1 + max(operand.depth for operand in operands)
    if depth > MAX_DEPTH:
        raise ContentError(f"nested deeper than {MAX_DEPTH} levels", "a chain such as a & b & c needs no parentheses")
    return depth
