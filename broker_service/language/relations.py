"""Relations between subscriptions and advertisements.

All are exact: over the real numbers, over all strings by code point, for every pair of operators and for conjunctions.
The ground is what publications are (see `model`): any set of attributes with values of either type, except that
`class` is always there and always a string. An attribute that a publication lacks fails every predicate on it, `<>`
and `neq` too.

Predicates on different attributes do not bear on each other, so every question falls apart into one for each attribute,
answered by `number_sets` or `string_sets`.

*Two readings of "intersects".* A subscription bounds only the attributes it names; an advertisement also forbids those
it does not name, and lets those it names be missing. So the same predicates give different answers: `[class,eq,'A']` as
a subscription has publications in common with `[class,eq,'A'],[price,>,1]`; as an advertisement it has none, because
no publication that conforms to it has a price. Hence two names: `intersects` for an advertisement and a subscription
(the question of routing, and PADRES's meaning of the word), `overlaps` for two subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from broker_service.language import number_sets, string_sets
from broker_service.language.model import CLASS, Advertisement, Operator, Predicate, Subscription, Value

_ANY_CLASS = Predicate(CLASS, Operator.PRESENT, "")
"""Knowledge about the class of every publication."""


def covers(general: Subscription, special: Subscription) -> bool:
    """True when every publication that matches `special` matches `general`.

    A subscription that nothing can match is covered by all.
    """
    known = _by_attribute((*special.predicates, _ANY_CLASS))
    for predicate in general.predicates:
        held = known.get(predicate.attribute)
        if held is None or _escapable(held, predicate):
            return not _all_satisfiable(known)
    return True


def intersects(advertisement: Advertisement, subscription: Subscription) -> bool:
    """True when some publication conforms to the advertisement and matches the subscription.

    That is: the subscription asks only for advertised attributes, and each of them, and the class, can have a value
    that suits both.
    """
    wanted = _by_attribute((*subscription.predicates, _ANY_CLASS))
    if not wanted.keys() <= advertisement.by_attribute.keys():
        return False
    for predicate in advertisement.predicates:
        if together := wanted.get(predicate.attribute):
            together.append(predicate)
    return _all_satisfiable(wanted)


def overlaps(left: Subscription, right: Subscription) -> bool:
    """True when some publication matches both subscriptions."""
    return _all_satisfiable(_by_attribute((*left.predicates, *right.predicates, _ANY_CLASS)))


def satisfiable(subscription: Subscription) -> bool:
    """True when some publication matches the subscription."""
    return _all_satisfiable(_by_attribute((*subscription.predicates, _ANY_CLASS)))


def _by_attribute(predicates: Iterable[Predicate]) -> dict[str, list[Predicate]]:
    grouped: dict[str, list[Predicate]] = {}
    for predicate in predicates:
        grouped.setdefault(predicate.attribute, []).append(predicate)
    return grouped


def _all_satisfiable(grouped: Mapping[str, Sequence[Predicate]]) -> bool:
    """True when each attribute can have a value that satisfies the predicates on it."""
    return all(map(_satisfiable, grouped.values()))


def _satisfiable(predicates: Sequence[Predicate]) -> bool:
    """True when some value satisfies these predicates, at least one, which are on one attribute."""
    of_strings = type(predicates[0].value) is str
    conditions: list[tuple[Operator, Value]] = []
    for predicate in predicates:
        if (type(predicate.value) is str) is not of_strings:
            return False
        conditions.append((predicate.operator, predicate.value))
    if of_strings:
        return string_sets.satisfiable(cast(list[string_sets.Condition], conditions))
    return number_sets.satisfiable(cast(list[number_sets.Condition], conditions))


def _escapable(predicates: Sequence[Predicate], predicate: Predicate) -> bool:
    """True when some value satisfies these predicates, which are on its attribute, but not this predicate."""
    if predicate in predicates:
        return False
    types = {type(known.value) is str for known in predicates}
    if len(types) > 1:
        return False
    if types != {type(predicate.value) is str}:
        return _satisfiable(predicates)
    conditions = [(known.operator, known.value) for known in predicates]
    condition = (predicate.operator, predicate.value)
    if types == {True}:
        return string_sets.escapable(
            cast(list[string_sets.Condition], conditions), cast(string_sets.Condition, condition)
        )
    return number_sets.escapable(cast(list[number_sets.Condition], conditions), cast(number_sets.Condition, condition))
