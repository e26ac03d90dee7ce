"""Sets of numbers: the test whether some real number satisfies a conjunction of conditions.

A conjunction of comparisons is an interval less finitely many points. The reals are dense: an interval of more than one
point keeps infinitely many whatever is excluded, so only the order of the tightest bounds matters, and the excluded
points only where both bounds meet. Integers and decimals are the same type, so `> 1` and `< 2` have 1.5 in common.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker_service.language.content import TESTS
from broker_service.language.model import Number, Operator

Condition = tuple[Operator, Number]

_COMPLEMENT = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.NOT_EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.GREATER_OR_EQUAL,
    Operator.LESS_OR_EQUAL: Operator.GREATER,
    Operator.GREATER: Operator.LESS_OR_EQUAL,
    Operator.GREATER_OR_EQUAL: Operator.LESS,
}


def satisfiable(conditions: Sequence[Condition]) -> bool:
    """True when some number meets all conditions."""
    lower: tuple[Number, bool] | None = None  # with whether the bound itself is excluded: the tighter one is greater
    upper: tuple[Number, bool] | None = None  # with whether the bound itself is included: the tighter one is less
    for operator, value in conditions:
        if operator is Operator.EQUAL:
            return all(TESTS[other](value, bound) for other, bound in conditions)
        if operator is Operator.GREATER or operator is Operator.GREATER_OR_EQUAL:
            bound = (value, operator is Operator.GREATER)
            lower = bound if lower is None or bound > lower else lower
        elif operator is Operator.LESS or operator is Operator.LESS_OR_EQUAL:
            bound = (value, operator is Operator.LESS_OR_EQUAL)
            upper = bound if upper is None or bound < upper else upper
    if lower is None or upper is None or lower[0] < upper[0]:
        return True
    return lower[0] == upper[0] and all(TESTS[operator](lower[0], value) for operator, value in conditions)


def escapable(conditions: Sequence[Condition], condition: Condition) -> bool:
    """True when some number meets all conditions but not `condition`."""
    operator, value = condition
    if operator is Operator.PRESENT:
        return False
    return satisfiable((*conditions, (_COMPLEMENT[operator], value)))
