"""Sums of subscriptions: what a neighbour is told stands for all of them, and no more than it must."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Operator, Predicate, Subscription
from broker_service.language.relations import covers
from broker_service.messages import Kind
from broker_service.routing.cbf.sums import CoveringSum, Entry, IdenticalSum, Sum
from broker_service.routing.common.contents import content_of

BOUNDS = [(low, high) for low in range(3) for high in range(low, 4)]


def entry(low: int, high: int) -> Entry:
    subscription = Subscription(
        (Predicate("v", Operator.GREATER_OR_EQUAL, low), Predicate("v", Operator.LESS_OR_EQUAL, high))
    )
    return Entry(f"{low}-{high}", content_of(subscription), subscription)


ENTRIES = [entry(low, high) for low, high in BOUNDS]


@pytest.mark.parametrize("kind", [IdenticalSum, CoveringSum])
@given(changes=st.lists(st.sampled_from(ENTRIES)))
def test_the_neighbour_always_wants_what_stands(kind: type[Sum], changes: list[Entry]) -> None:
    """Each change toggles a subscription. The neighbour applies what it is told one by one, as a link brings it."""
    told, standing, known = kind(), dict[bytes, Entry](), dict[bytes, Entry]()
    for changed in changes:
        if changed.body in standing:
            del standing[changed.body]
            news = told.remove(changed.body)
        else:
            standing[changed.body] = changed
            news = told.add(changed)
        lasting = [other for other in standing.values() if other is not changed]
        for change in news:
            if change.kind is Kind.SUBSCRIBE:
                assert change.entry.body not in known
                known[change.entry.body] = change.entry
            else:
                del known[change.entry.body]
            assert all(covered(other, known) for other in lasting)
        assert all(covered(other, known) for other in standing.values())
        assert known == told.announced
        assert known.keys() <= standing.keys() == told.entries.keys()


@given(changes=st.lists(st.sampled_from(ENTRIES), unique=True))
def test_nothing_is_announced_that_another_announced_one_covers(changes: list[Entry]) -> None:
    told = CoveringSum()
    for changed in changes:
        told.add(changed)
    for one in told.announced.values():
        assert not any(
            covers(other.subscription, one.subscription) for other in told.announced.values() if other is not one
        )


def test_content_ignores_the_order_and_repetition_of_predicates() -> None:
    low, high = Predicate("v", Operator.GREATER, 1), Predicate("v", Operator.LESS, 5)
    assert content_of(Subscription((low, high))) == content_of(Subscription((high, low, high)))
    assert content_of(Subscription((low, high))) != content_of(Subscription((low,)))


def covered(one: Entry, known: dict[bytes, Entry]) -> bool:
    return any(covers(other.subscription, one.subscription) for other in known.values())
