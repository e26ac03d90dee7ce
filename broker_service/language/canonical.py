"""The canonical form of patterns: equal for patterns that differ only in order, grouping and repetition.

`&` and `||` are associative and commutative, a conjunction of predicates is idempotent, and so is `||`. `a & a` is not:
two different publications may match its two operands. Names of variables are kept, and nothing is distributed, because
that could make a pattern exponentially larger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from broker_service.language.composite import And, Atomic, Composite, Or
from broker_service.language.composite_subscription import relaxed
from broker_service.language.formatting import format_composite
from broker_service.language.model import Subscription


def canonical(pattern: Composite) -> Composite:
    """The canonical form: no `&` directly within `&`, no `||` directly within `||`, operands sorted by their text."""
    match pattern:
        case Atomic(predicates):
            by_text = {format_composite(Atomic((predicate,))): predicate for predicate in predicates}
            return Atomic(tuple(by_text[text] for text in sorted(by_text)))
        case And(operands):
            return And(tuple(sorted(_joined(And, operands), key=format_composite)))
        case Or(operands):
            different = {format_composite(operand): operand for operand in _joined(Or, operands)}
            ordered = tuple(different[text] for text in sorted(different))
            return Or(ordered) if len(ordered) > 1 else ordered[0]


def routed_form(part: Atomic) -> Subscription:
    """The subscription by which a part is routed, the same for all parts of one canonical form."""
    form = canonical(part)
    assert isinstance(form, Atomic)
    return relaxed(form)


def _joined(node: type[And] | type[Or], operands: Iterable[Composite]) -> Iterator[Composite]:
    """Operands in their canonical form; one that is of the same kind of node is replaced by its own operands."""
    for operand in map(canonical, operands):
        if isinstance(operand, node):
            yield from operand.operands
        else:
            yield operand
