"""Plans: the order in which a search completes a pattern, once a publication has filled one of its leaves.

A pattern is a tree of leaves, `AllOf` (`&`) and `AnyOf` (`||`). Once a publication fills a leaf, the other operands of
each `AllOf` above it are missing; an `AnyOf` above it misses nothing. A plan visits the leaves that are missing, and
chooses among the operands of each `AnyOf` on its way:

1. A leaf that shares a bound variable comes first; its matches are found by the variable's value.
2. Steps are shared: what follows an `AnyOf` is the same step after each of its operands, so that a plan has at most as
   many steps as the pattern has nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_service.detection.matches import AccessPath, Leaf
from broker_service.detection.slots import PartReader, Slot, Slots, SlotTest, Values
from broker_service.language.composite import And, Atomic, Composite


@dataclass(frozen=True, slots=True)
class Visit:
    """A step that tries the matches of one leaf."""

    path: AccessPath
    fills: tuple[tuple[Slot, int], ...]
    """Slots that a match fills, or must agree with, and the places of their values in it."""
    tests: tuple[SlotTest, ...]
    """Tests that may have both of their slots filled from now on."""
    following: Step | None


@dataclass(frozen=True, slots=True)
class Choice:
    """A step that tries several ways to go on."""

    alternatives: tuple[Step, ...]


Step = Visit | Choice


@dataclass(frozen=True, slots=True)
class Plan:
    """All steps after a publication has filled one leaf."""

    first: Step | None
    """First step; None where the leaf fulfils the pattern by itself."""
    needed: tuple[AccessPath, ...]
    """Paths of later steps to leaves without which nothing can be complete."""

    def may_succeed(self, values: Values) -> bool:
        """False where nothing is complete with these values, because a leaf has no match."""
        first = self.first
        if isinstance(first, Visit) and not first.path.has(values):
            return False
        return all(self.needed) if self.needed else True


def _plan_of(first: Step | None) -> Plan:
    needed = []
    step = first
    while isinstance(step, Visit):
        if step is not first:
            needed.append(step.path)
        step = step.following
    return Plan(first, tuple(needed))


class AllOf:
    """A node all operands of which are fulfilled."""

    __slots__ = ("bound", "operands")

    def __init__(self, operands: tuple[Node, ...]) -> None:
        self.operands = operands
        self.bound: frozenset[Slot] = frozenset().union(*(operand.bound for operand in operands))
        """Slots that are filled whichever way the node is fulfilled."""


class AnyOf:
    """A node some operand of which is fulfilled."""

    __slots__ = ("bound", "operands")

    def __init__(self, operands: tuple[Node, ...]) -> None:
        self.operands = operands
        self.bound: frozenset[Slot] = operands[0].bound.intersection(*(operand.bound for operand in operands))


Node = Leaf | AllOf | AnyOf


class PatternPlans:
    """The leaves of a pattern, and a plan for each."""

    def __init__(self, composite: str, pattern: Composite) -> None:
        self.leaves: list[Leaf] = []
        self.parts: list[Atomic] = []
        """Part that is at each leaf."""
        self.slots = Slots()
        self._composite = composite
        root = self._node(pattern)
        self.plans: dict[Leaf, Plan] = {}
        self._plan(root, ())

    def _node(self, pattern: Composite) -> Node:
        if isinstance(pattern, Atomic):
            leaf = Leaf(self._composite, PartReader(pattern, self.slots))
            self.leaves.append(leaf)
            self.parts.append(pattern)
            return leaf
        operands = tuple(map(self._node, pattern.operands))
        return AllOf(operands) if isinstance(pattern, And) else AnyOf(operands)

    def _plan(self, node: Node, missing: tuple[Node, ...]) -> None:
        """Makes the plans of all leaves below a node; `missing` are the nodes elsewhere that they need."""
        if isinstance(node, Leaf):
            self.plans[node] = _plan_of(self._steps(missing, node.bound, None))
            return
        for place, operand in enumerate(node.operands):
            others = node.operands[:place] + node.operands[place + 1 :] if isinstance(node, AllOf) else ()
            self._plan(operand, missing + others)

    def _steps(self, nodes: tuple[Node, ...], bound: frozenset[Slot], following: Step | None) -> Step | None:
        """Steps that fulfil all these nodes, and go on with `following`."""
        if not nodes:
            return following
        chosen = min(nodes, key=lambda node: (not node.bound & bound, isinstance(node, AnyOf)))
        rest = tuple(node for node in nodes if node is not chosen)
        if isinstance(chosen, AllOf):
            return self._steps(chosen.operands + rest, bound, following)
        after = self._steps(rest, bound | chosen.bound, following)
        if isinstance(chosen, Leaf):
            return self._visit(chosen, bound, after)
        steps = (self._steps((operand,), bound, after) for operand in chosen.operands)
        return Choice(tuple(step for step in steps if step is not None))

    def _visit(self, leaf: Leaf, bound: frozenset[Slot], following: Step | None) -> Visit:
        slot = min(leaf.bound & bound, default=None)
        fills = tuple((other, place) for place, other in enumerate(leaf.reader.slots) if other != slot)
        return Visit(leaf.path(slot), fills, self.slots.tests(leaf.reader.slots), following)
