"""Covering relations of a conjunction graph, which find what covers a conjunction without comparing it with all others.

`exact` is the covering of all publications. An equality narrows the comparisons: a conjunction with `a = v` covers
only what fixes `a` at `v`, by an equality as a rule. Two thousand subscriptions to topics then cost a comparison or
two each.

`exact` is exact as far as its work is bounded, because otherwise one message with n conjunctions costs n x n
comparisons. An update, which is a message or a request of a client, is granted `UPDATE` units of work and `EACH` for
each conjunction that it adds. What is left to compare when they are used up counts as not covered: subscriptions are
then aggregated less, and no publication is lost.

`identity` lets no conjunction cover a different one. The paper measures its system with this relation (section 5.1).
"""

from __future__ import annotations

import enum
import sys
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, KeysView, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from broker_service.language import CLASS, Operator, Subscription, Value
from broker_service.language.relations import covers, satisfiable
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction, Hull, hull_of, is_above

_EQUALITIES: Final = frozenset({Operator.EQUAL, Operator.STRING_EQUAL})
_LOW_STRINGS = (Operator.STRING_LESS, Operator.STRING_LESS_OR_EQUAL)

Bodies = dict[bytes, Conjunction]


UPDATE: Final = 1 << 14
"""Units of an update, 20 ms at the most. One conjunction of a few predicates is compared with 8,000 others both ways,
or with 700 where predicates other than bounds and equalities have to be compared."""
EACH: Final = 64
"""Units more for each conjunction that it adds: an update with 160 conjunctions of bounds is compared completely."""
_EACH_REMOVED: Final = 4
_COMPARISON: Final = 8
"""Units of a comparison of all predicates, besides those for `_PAIRS_A_UNIT` pairs of them each. A comparison of hulls
is one unit, and one for `_PREDICATES_A_UNIT` predicates each."""
_PAIRS_A_UNIT: Final = 2
_PREDICATES_A_UNIT: Final = 8

_KEPT: Final = 4_096
"""Conjunctions whose traits are kept once they were found."""
_SMALL: Final = 256
"""Bytes of a small conjunction, at most, so that the traits that are kept take few megabytes."""


class Effort:
    """Units of work that are left to an update."""

    def __init__(self) -> None:
        self.left = UPDATE

    def grant(self, added: int, removed: int = 0) -> None:
        """Begins an update that adds and removes so many conjunctions."""
        self.left = UPDATE + EACH * added + _EACH_REMOVED * removed

    def spend(self, units: int) -> bool:
        """Takes units, if any are left. Returns whether there were."""
        if self.left <= 0:
            return False
        self.left -= units
        return True

    def covers(self, general: Conjunction, special: Conjunction) -> bool:
        """True if `relations.covers` holds. False also when no units of work are left."""
        return self.spend(_cost(general, special)) and covers(general.subscription, special.subscription)


def _cost(one: Conjunction, other: Conjunction) -> int:
    """Units of a comparison of all predicates of two conjunctions."""
    pairs = len(one.subscription.predicates) * len(other.subscription.predicates)
    return _COMPARISON + pairs // _PAIRS_A_UNIT


class Related(NamedTuple):
    """Contents of the conjunctions that one covers, and of those that cover it."""

    below: set[bytes]
    above: set[bytes]


class Covering(ABC):
    """A covering relation over the conjunctions that were added to it."""

    def __init__(self) -> None:
        self.effort = Effort()

    @abstractmethod
    def add(self, conjunction: Conjunction) -> Related:
        """Adds a conjunction that is not there. Returns the others that it covers, and those that cover it."""

    @abstractmethod
    def remove(self, conjunction: Conjunction) -> None:
        """Removes a conjunction that is there."""

    @abstractmethod
    def above(self, conjunction: Conjunction) -> set[bytes]:
        """Contents of all others that cover a conjunction."""

    @abstractmethod
    def is_above(self, general: Conjunction, special: Conjunction) -> bool:
        """True if `conjunctions.is_above` holds for two added conjunctions. False also when no units of work are
        left."""


class IdentityCovering(Covering):
    """No conjunction covers a different one."""

    def add(self, conjunction: Conjunction) -> Related:
        return Related(set(), set())

    def remove(self, conjunction: Conjunction) -> None:
        pass

    def above(self, conjunction: Conjunction) -> set[bytes]:
        return set()

    def is_above(self, general: Conjunction, special: Conjunction) -> bool:
        return False


class _Equality(NamedTuple):
    attribute: str
    value: Value


class _Trait(enum.Enum):
    """Something that conjunctions have in common."""

    ANY = enum.auto()
    UNSATISFIABLE = enum.auto()
    WITHOUT_EQUALITY = enum.auto()
    EQUALITY = enum.auto()
    """An equality that a conjunction has."""
    CHOSEN_EQUALITY = enum.auto()
    """The one equality of a conjunction by which it is filed."""
    CHOSEN_ATTRIBUTE = enum.auto()
    """The attribute of the equality by which it is filed."""
    NARROW = enum.auto()
    """An attribute whose value a conjunction may fix without an equality."""
    ATTRIBUTE = enum.auto()
    """An attribute that a conjunction names."""


class _Key(NamedTuple):
    trait: _Trait
    attribute: str = ""
    value: Value = ""


_NONE: Final[Bodies] = {}


class _Traits(NamedTuple):
    """Traits of one conjunction, by which the others to compare it with are found."""

    hull: Hull | None
    """Hull of a conjunction that some publication matches; None of any other."""
    equalities: Collection[_Equality]
    attributes: KeysView[str]
    """Attributes that the predicates name, in their order."""
    keys: tuple[_Key, ...]
    """Keys of the sets in which the conjunction stands, but for those of its chosen equality."""
    covering: tuple[_Key, ...]
    """Keys of sets that hold every conjunction which covers it."""

    @classmethod
    def of(cls, subscription: Subscription) -> _Traits:
        equalities: dict[_Equality, None] = {}
        by_attribute: defaultdict[str, list[Operator]] = defaultdict(list)
        for predicate in subscription.predicates:
            if predicate.operator in _EQUALITIES:
                equalities[_Equality(predicate.attribute, predicate.value)] = None
            by_attribute[predicate.attribute].append(predicate.operator)
        keys = [_Key(_Trait.ANY)] if equalities else [_Key(_Trait.ANY), _Key(_Trait.WITHOUT_EQUALITY)]
        covering = [_Key(_Trait.WITHOUT_EQUALITY)]
        for equality in equalities:
            keys.append(_Key(_Trait.EQUALITY, *equality))
            covering.append(_Key(_Trait.CHOSEN_EQUALITY, *equality))
        for attribute, operators in by_attribute.items():
            keys.append(_Key(_Trait.ATTRIBUTE, attribute))
            if _is_narrow(operators):
                keys.append(_Key(_Trait.NARROW, attribute))
                covering.append(_Key(_Trait.CHOSEN_ATTRIBUTE, attribute))
        if satisfiable(subscription):
            return cls(hull_of(subscription), equalities, by_attribute.keys(), tuple(keys), tuple(covering))
        keys.append(_Key(_Trait.UNSATISFIABLE))
        return cls(None, equalities, by_attribute.keys(), tuple(keys), (_Key(_Trait.ANY),))


def _is_narrow(operators: Sequence[Operator]) -> bool:
    """True when predicates on an attribute, without an equality, may leave a single value: one predicate does that only
    by an upper bound of strings, of which the empty one is the least."""
    return _EQUALITIES.isdisjoint(operators) and (len(operators) > 1 or operators[0] in _LOW_STRINGS)


_traits_of = lru_cache(maxsize=_KEPT)(_Traits.of)
"""Traits of a small conjunction, which are found once in a process, because many brokers and nodes have the same."""


class ExactCovering(Covering):
    """Covering as `broker_service.language.relations` defines it."""

    def __init__(self) -> None:
        super().__init__()
        self._sets: dict[_Key, Bodies] = {}
        """Conjunctions that have a trait in common, by that trait's key. No set is empty."""
        self._keys: dict[bytes, tuple[_Key, ...]] = {}
        """Keys of the sets in which each conjunction stands."""
        self._hulls: dict[bytes, Hull] = {}
        """Hulls of the conjunctions that some publication matches."""

    def add(self, conjunction: Conjunction) -> Related:
        body, traits, hulls = conjunction.body, _traits(conjunction), self._hulls
        below = {
            other.body
            for other in self._candidates(conjunction, self._may_be_covered(traits))
            if self._is_above(conjunction, traits.hull, other, hulls.get(other.body))
        }
        related = Related(below, self._above(conjunction, traits))
        if traits.hull is not None:
            hulls[body] = traits.hull
        keys = traits.keys
        if traits.equalities:  # one is chosen that few others have
            chosen = self._rarest(reversed(list(traits.equalities)))
            keys += (_Key(_Trait.CHOSEN_EQUALITY, *chosen), _Key(_Trait.CHOSEN_ATTRIBUTE, chosen.attribute))
        self._keys[body] = keys
        for key in keys:
            self._sets.setdefault(key, {})[body] = conjunction
        return related

    def remove(self, conjunction: Conjunction) -> None:
        for key in self._keys.pop(conjunction.body):
            bodies = self._sets[key]
            del bodies[conjunction.body]
            if not bodies:
                del self._sets[key]
        self._hulls.pop(conjunction.body, None)

    def above(self, conjunction: Conjunction) -> set[bytes]:
        return self._above(conjunction, _traits(conjunction))

    def is_above(self, general: Conjunction, special: Conjunction) -> bool:
        hulls = self._hulls
        return self.effort.spend(1) and self._is_above(
            general, hulls.get(general.body), special, hulls.get(special.body)
        )

    def _above(self, conjunction: Conjunction, traits: _Traits) -> set[bytes]:
        hulls = self._hulls
        return {
            other.body
            for other in self._candidates(conjunction, traits.covering)
            if self._is_above(other, hulls.get(other.body), conjunction, traits.hull)
        }

    def _is_above(self, general: Conjunction, upper: Hull | None, special: Conjunction, lower: Hull | None) -> bool:
        """True when `is_above` is, of two with their hulls; None is the hull of a conjunction that no publication
        matches."""
        if lower is not None:
            decided = upper is not None and upper.contains(lower)
            if decided is False:
                return False
            if decided and upper is not None:
                self.effort.left -= 1  # because an edge between the two has to be considered
                return general.body < special.body or not lower.contains(upper)
        return self.effort.spend(_cost(general, special)) and is_above(general, special)

    def _candidates(self, conjunction: Conjunction, keys: Iterable[_Key]) -> Iterator[Conjunction]:
        """Members of all sets with these keys but the conjunction itself, as many as there are units for, each once."""
        effort, found = self.effort, {conjunction.body}
        for key in keys:
            for body, other in self._sets.get(key, _NONE).items():
                if effort.left <= 0:
                    return
                effort.left -= 1 + len(other.subscription.predicates) // _PREDICATES_A_UNIT
                if body not in found:
                    found.add(body)
                    yield other

    def _rarest(self, equalities: Iterable[_Equality]) -> _Equality:
        """The first of these that fewest conjunctions have."""
        sets, few = self._sets, sys.maxsize
        for equality in equalities:
            number = len(sets.get(_Key(_Trait.EQUALITY, *equality), _NONE))
            if number < few:
                rarest, few = equality, number
        return rarest

    def _may_be_covered(self, traits: _Traits) -> tuple[_Key, ...]:
        """Keys of sets that hold every conjunction which one with these traits covers."""
        if traits.equalities:
            rarest = self._rarest(traits.equalities)
            equality, narrow = _Key(_Trait.EQUALITY, *rarest), _Key(_Trait.NARROW, rarest.attribute)
            return equality, narrow, _Key(_Trait.UNSATISFIABLE)
        # Every publication has a class, so that a predicate on it can hold for conjunctions that do not name it.
        attributes = traits.attributes - {CLASS}
        if not attributes:
            return (_Key(_Trait.ANY),)
        keys = [_Key(_Trait.ATTRIBUTE, name) for name in sorted(attributes)]
        return min(keys, key=lambda key: len(self._sets.get(key, _NONE))), _Key(_Trait.UNSATISFIABLE)


def _traits(conjunction: Conjunction) -> _Traits:
    known = _traits_of if len(conjunction.body) <= _SMALL else _Traits.of
    return known(conjunction.subscription)
