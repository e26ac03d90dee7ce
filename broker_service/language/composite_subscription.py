"""Composite subscriptions as clients make them: a pattern of several publications, and the window that it must fit in.

1. A *part* is an atomic subscription of the pattern. It is routed as the subscription that it is without its variables,
   each relaxed to the presence of a value of the variable's type; the detector compares the values.
2. A variable is *bound* by `=`, by `eq`, and by `isPresent`, as in `[TID = *, $Z]` of Li, Muthusamy, Jacobsen
   (Middleware 2008, section 3.2). Every other operator tests a value against the one that the variable is bound to. So
   each way to fulfil the pattern must bind the variables that it tests; otherwise the subscription is refused.
3. A pattern has at most `MAX_PARTS` parts and `MAX_VARIABLES` variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from broker_service.language.composite import And, Atomic, Composite, Or, Variable, VariablePredicate, VariableType
from broker_service.language.formatting import format_composite, format_variable
from broker_service.language.model import ContentError, Operator, Predicate, Subscription, abridged

MAX_PARTS = 64
"""Parts of a pattern; one that is written twice counts twice."""
MAX_VARIABLES = 16
"""Variables of a pattern."""
MAX_WITHIN = (1 << 63) - 1
"""Longest window, in nanoseconds."""

_SHOWN = 120
"""Characters of a part in a message."""


@dataclass(frozen=True, slots=True)
class CompositeSubscription:
    """A pattern, checked as a whole. Raises `ContentError` with the number and the text of the part at fault."""

    pattern: Composite
    within: int | None = None
    """Nanoseconds between the first and the last publication of a detection; None for the broker's default."""

    def __post_init__(self) -> None:
        if self.within is not None and not 0 <= self.within <= MAX_WITHIN:
            raise ContentError(f"a window of {self.within} ns", f"it takes 0 to {MAX_WITHIN}")
        _check_sizes(parts_of(self.pattern))
        _check_bound(self.pattern, frozenset(), first=1)


def parts_of(pattern: Composite) -> tuple[Atomic, ...]:
    """The parts of a pattern in the order in which they are written. Part 1 of a message is the first of them."""
    return tuple(_atomic_nodes(pattern))


def relaxed(part: Atomic) -> Subscription:
    """The subscription by which a part is routed: it matches whatever the part matches for any values of variables."""
    return Subscription(tuple(dict.fromkeys(map(_relaxed, part.predicates))))


def variable_predicates(part: Atomic) -> tuple[VariablePredicate, ...]:
    """The predicates of a part that have variables."""
    return tuple(predicate for predicate in part.predicates if isinstance(predicate, VariablePredicate))


def binds(predicate: VariablePredicate) -> bool:
    """True when the predicate gives its variable the publication's value, False when it tests against it."""
    return predicate.operator in _BINDING


def guaranteed(pattern: Composite) -> frozenset[Variable]:
    """Variables that every way to fulfil the pattern binds."""
    match pattern:
        case Atomic(predicates):
            return frozenset(
                predicate.variable
                for predicate in predicates
                if isinstance(predicate, VariablePredicate) and binds(predicate)
            )
        case And(operands):
            return frozenset().union(*map(guaranteed, operands))
        case Or(operands):
            return frozenset.intersection(*map(guaranteed, operands))


_BINDING = frozenset({Operator.EQUAL, Operator.STRING_EQUAL, Operator.PRESENT})


def _atomic_nodes(pattern: Composite) -> Iterator[Atomic]:
    if isinstance(pattern, Atomic):
        yield pattern
    else:
        for operand in pattern.operands:
            yield from _atomic_nodes(operand)


def _relaxed(predicate: Predicate | VariablePredicate) -> Predicate:
    if isinstance(predicate, Predicate):
        return predicate
    return Predicate(predicate.attribute, Operator.PRESENT, predicate.variable.type.sample)


def _check_sizes(parts: tuple[Atomic, ...]) -> None:
    if len(parts) > MAX_PARTS:
        raise _error(
            MAX_PARTS + 1, parts[MAX_PARTS], f"there are {len(parts)} parts", f"a pattern takes at most {MAX_PARTS}"
        )
    variables: set[Variable] = set()
    for number, part in enumerate(parts, 1):
        for predicate in part.predicates:
            if not isinstance(predicate, VariablePredicate):
                continue
            variables.add(predicate.variable)
            if len(variables) > MAX_VARIABLES:
                name = format_variable(predicate.variable)
                trouble = f"{name} is variable number {len(variables)}"
                raise _error(number, part, trouble, f"a pattern takes at most {MAX_VARIABLES}")


def _check_bound(pattern: Composite, bound: frozenset[Variable], first: int) -> int:
    """Raises `ContentError` for a test of a variable that may be unbound.

    `bound` are the variables that the rest of the pattern binds in every way that includes this node, `first` is the
    number of this node's first part. Returns the number of the part behind its last one.
    """
    if isinstance(pattern, Atomic):
        _check_part(pattern, bound | guaranteed(pattern), first)
        return first + 1
    each = [guaranteed(operand) for operand in pattern.operands]
    for place, operand in enumerate(pattern.operands):
        others = each[:place] + each[place + 1 :] if isinstance(pattern, And) else []
        first = _check_bound(operand, bound.union(*others), first)
    return first


def _check_part(part: Atomic, bound: frozenset[Variable], number: int) -> None:
    for predicate in part.predicates:
        if isinstance(predicate, VariablePredicate) and predicate.variable not in bound:
            name = format_variable(predicate.variable)
            sign = "eq" if predicate.variable.type is VariableType.STRING else "="
            raise _error(
                number,
                part,
                f"nothing binds {name}, which {predicate.attribute!r} is compared with, in some way to fulfil the "
                "pattern",
                f"bind it with [ATTRIBUTE,{sign},{name}] in this part or in one that is joined to it by '&'",
            )


def _error(number: int, part: Atomic, trouble: str, remedy: str) -> ContentError:
    return ContentError(f"part {number}, {abridged(format_composite(part), _SHOWN)}: {trouble}", remedy)
