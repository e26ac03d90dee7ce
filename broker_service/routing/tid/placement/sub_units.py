"""Sub-units: operands of a unit that travel on together from its join point, as a unit of their own (section 4.2).

A unit that is split sends its parts on. Operands that the choice of destinations (`choice`) gave one destination
elsewhere stay together as one unit, which is routed whole to that neighbour and decided anew there. Its join point
sends the sets that it detects back to this one, instead of all publications that match its parts. The rules:

1. Operands of one `&` or `||` with the same single destination are one sub-unit, because both operators are
   associative. An operand whose own destination is this broker is split here, too, and its operands are treated in the
   same way.
2. A sub-unit has two parts at least, and fewer than the unit, so that the splitting ends.
3. A sub-unit has to save messages: its detections, as estimated (Table 2), are fewer than the publications that match
   its parts. `||` alone saves none. Of operands that save none together, each may still do so by itself.
4. A sub-unit binds all variables that it tests, because a test of a variable that only other operands bind has no
   meaning in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from broker_service.language import ContentError
from broker_service.language.composite import And, Atomic, Composite, Or
from broker_service.language.composite_subscription import CompositeSubscription, parts_of
from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.decision.choice import Decision
from broker_service.routing.tid.placement.rates.cardinality import joined_rate


@dataclass(frozen=True, slots=True)
class SubUnit:
    """Operands that travel on together."""

    pattern: Composite
    parts: tuple[int, ...]
    """Parts of the sub-unit, in the order of its own pattern, by their numbers in the unit, which begin with 0."""
    destination: BrokerId


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand, with the number of its first part."""

    decision: Decision
    first: int

    @property
    def parts(self) -> range:
        """The numbers of its parts."""
        return range(self.first, self.first + len(parts_of(self.decision.pattern)))

    @property
    def operands(self) -> list[_Operand]:
        """The operands that this operand is composed of."""
        sizes = [len(parts_of(operand.pattern)) for operand in self.decision.operands]
        return list(map(_Operand, self.decision.operands, accumulate(sizes, initial=self.first)))


def sub_units(decision: Decision, here: BrokerId) -> list[SubUnit]:
    """The sub-units of a unit that is split at the broker `here`, by the decision that was made about it there."""
    return list(_split(_Operand(decision, 0), here))


def _split(node: _Operand, here: BrokerId) -> Iterator[SubUnit]:
    groups: dict[BrokerId, list[_Operand]] = {}
    operands = node.operands
    for operand in operands:
        destinations = operand.decision.destinations
        if destinations == {here}:
            yield from _split(operand, here)
        elif len(destinations) == 1:
            groups.setdefault(min(destinations), []).append(operand)
    for destination, group in groups.items():
        together = [group] if len(group) < len(operands) and _saves(node, group) else []
        for members in together or [[operand] for operand in group if _saves(node, [operand])]:
            numbers = tuple(number for operand in members for number in operand.parts)
            yield SubUnit(_joined(node, members), numbers, destination)


def _joined(node: _Operand, members: Sequence[_Operand]) -> Composite:
    """The pattern of some operands of a node."""
    patterns = tuple(operand.decision.pattern for operand in members)
    if len(patterns) == 1:
        return patterns[0]
    return And(patterns) if isinstance(node.decision.pattern, And) else Or(patterns)


def _saves(node: _Operand, members: Sequence[_Operand]) -> bool:
    """True for operands of a node that may be a sub-unit and save messages (rules 3 and 4); false for a single part."""
    rates = [operand.decision.rate for operand in members]
    pattern = node.decision.pattern
    assert not isinstance(pattern, Atomic)
    detections = rates[0] if len(rates) == 1 else joined_rate(pattern, rates)
    if detections >= sum(_publications(operand.decision) for operand in members):
        return False
    try:
        CompositeSubscription(_joined(node, members))
    except ContentError:
        return False
    return True


def _publications(decision: Decision) -> float:
    """Publications a second that match the parts of a node."""
    if not decision.operands:
        return decision.rate
    return sum(map(_publications, decision.operands))
