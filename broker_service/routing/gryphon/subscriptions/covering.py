"""Covering relations of a conjunction graph, which find what covers a conjunction without comparing it with all others.

`exact` is the covering of all publications. An equality narrows the comparisons: a conjunction with `a = v` covers
only what fixes `a` at `v`, by an equality as a rule. Two thousand subscriptions to topics then cost a comparison or
two each.

`identity` lets no conjunction cover a different one. The paper measures its system with this relation (section 5.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from broker_service.language import CLASS, Operator, Predicate, Value
from broker_service.language.relations import satisfiable
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction, is_above

_EQUALITIES = (Operator.EQUAL, Operator.STRING_EQUAL)
_LOW_STRINGS = (Operator.STRING_LESS, Operator.STRING_LESS_OR_EQUAL)

Bodies = dict[bytes, Conjunction]


class Covering(ABC):
    """A covering relation over the conjunctions that were added to it."""

    @abstractmethod
    def add(self, conjunction: Conjunction) -> None:
        """Adds a conjunction that is not there."""

    @abstractmethod
    def remove(self, conjunction: Conjunction) -> None:
        """Removes a conjunction that is there."""

    @abstractmethod
    def above(self, conjunction: Conjunction) -> list[Conjunction]:
        """All others that cover a conjunction."""

    @abstractmethod
    def below(self, conjunction: Conjunction) -> list[Conjunction]:
        """All others that a conjunction covers."""


class IdentityCovering(Covering):
    """No conjunction covers a different one."""

    def add(self, conjunction: Conjunction) -> None:
        pass

    def remove(self, conjunction: Conjunction) -> None:
        pass

    def above(self, conjunction: Conjunction) -> list[Conjunction]:
        return []

    def below(self, conjunction: Conjunction) -> list[Conjunction]:
        return []


class _Equality(NamedTuple):
    attribute: str
    value: Value


class ExactCovering(Covering):
    """Covering as `broker_service.language.relations` defines it."""

    def __init__(self) -> None:
        self._all: Bodies = {}
        self._unsatisfiable: Bodies = {}
        self._without_equality: Bodies = {}
        self._with: defaultdict[_Equality, Bodies] = defaultdict(dict)
        """By each of their equalities."""
        self._chosen: dict[bytes, _Equality] = {}
        """One equality of each that has any, one that few others had when it was added."""
        self._chosen_with: defaultdict[_Equality, Bodies] = defaultdict(dict)
        self._chosen_on: defaultdict[str, Bodies] = defaultdict(dict)
        """By the attribute of the chosen equality."""
        self._narrow_on: defaultdict[str, Bodies] = defaultdict(dict)
        """By attribute: those that may fix its value without an equality."""
        self._by_attribute: defaultdict[str, Bodies] = defaultdict(dict)

    def add(self, conjunction: Conjunction) -> None:
        equalities = _equalities(conjunction.subscription.predicates)
        if equalities:
            self._chosen[conjunction.body] = min(reversed(equalities), key=lambda each: len(self._with[each]))
        for bodies in self._indexes(conjunction):
            bodies[conjunction.body] = conjunction

    def remove(self, conjunction: Conjunction) -> None:
        for bodies in self._indexes(conjunction):
            del bodies[conjunction.body]
        self._chosen.pop(conjunction.body, None)

    def above(self, conjunction: Conjunction) -> list[Conjunction]:
        return [other for other in _others(conjunction, self._may_cover(conjunction)) if is_above(other, conjunction)]

    def below(self, conjunction: Conjunction) -> list[Conjunction]:
        candidates = self._may_be_covered(conjunction)
        return [other for other in _others(conjunction, candidates) if is_above(conjunction, other)]

    def _indexes(self, conjunction: Conjunction) -> Iterator[Bodies]:
        """The indexes in which a conjunction stands."""
        predicates = conjunction.subscription.predicates
        yield self._all
        if not satisfiable(conjunction.subscription):
            yield self._unsatisfiable
        chosen = self._chosen.get(conjunction.body)
        if chosen is None:
            yield self._without_equality
        else:
            yield self._chosen_with[chosen]
            yield self._chosen_on[chosen.attribute]
        for equality in _equalities(predicates):
            yield self._with[equality]
        for attribute in _narrow(predicates):
            yield self._narrow_on[attribute]
        for attribute in dict.fromkeys(predicate.attribute for predicate in predicates):
            yield self._by_attribute[attribute]

    def _may_cover(self, conjunction: Conjunction) -> Iterable[Bodies]:
        """Sets that hold every conjunction which covers this one."""
        if not satisfiable(conjunction.subscription):
            return (self._all,)
        predicates = conjunction.subscription.predicates
        return (
            self._without_equality,
            *(self._chosen_with.get(equality, {}) for equality in _equalities(predicates)),
            *(self._chosen_on.get(attribute, {}) for attribute in _narrow(predicates)),
        )

    def _may_be_covered(self, conjunction: Conjunction) -> Iterable[Bodies]:
        """Sets that hold every conjunction which this one covers."""
        predicates = conjunction.subscription.predicates
        equalities = _equalities(predicates)
        if equalities:
            rarest = min(equalities, key=lambda each: len(self._with.get(each, ())))
            return self._with.get(rarest, {}), self._narrow_on.get(rarest.attribute, {}), self._unsatisfiable
        # Every publication has a class, so that a predicate on it can hold for conjunctions that do not name it.
        attributes = {predicate.attribute for predicate in predicates} - {CLASS}
        if not attributes:
            return (self._all,)
        return min((self._by_attribute.get(name, {}) for name in sorted(attributes)), key=len), self._unsatisfiable


def _others(conjunction: Conjunction, sets: Iterable[Bodies]) -> Iterable[Conjunction]:
    """The members of all sets but the conjunction itself, each once."""
    found: Bodies = {}
    for bodies in sets:
        found |= bodies
    found.pop(conjunction.body, None)
    return found.values()


def _equalities(predicates: Iterable[Predicate]) -> list[_Equality]:
    found = [_Equality(each.attribute, each.value) for each in predicates if each.operator in _EQUALITIES]
    return list(dict.fromkeys(found))


def _narrow(predicates: Iterable[Predicate]) -> list[str]:
    """Attributes without an equality on which the predicates may leave a single value: one predicate does that only by
    an upper bound of strings, of which the empty one is the least."""
    by_attribute: defaultdict[str, list[Operator]] = defaultdict(list)
    for predicate in predicates:
        by_attribute[predicate.attribute].append(predicate.operator)
    return [
        attribute
        for attribute, operators in by_attribute.items()
        if not any(operator in _EQUALITIES for operator in operators)
        and (len(operators) > 1 or operators[0] in _LOW_STRINGS)
    ]
