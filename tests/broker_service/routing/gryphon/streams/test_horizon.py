"""The horizon of a leaf: whatever arrives in whatever order, publications come out in order and once."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_service.messages import Kind, Message
from broker_service.routing.gryphon.streams.horizon import HORIZONS, Horizon, UnorderedHorizon
from broker_service.routing.gryphon.streams.publications import Held

LAST = 12


def held(position: int, size: int = 10) -> Held:
    return Held(position, Message(Kind.PUBLISH, f"p{position}", b"x" * size), {})


@given(data=st.data())
def test_publications_pass_in_order_and_once(data: st.DataObject) -> None:
    silent = data.draw(st.sets(st.integers(1, LAST)))
    first = data.draw(st.integers(1, LAST))
    arrivals = data.draw(st.lists(st.integers(1, LAST), max_size=40))
    horizon = Horizon(1 << 20)
    horizon.follow(first)
    passed = []
    for position in [*arrivals, *range(LAST, 0, -1)]:
        if position in silent:
            horizon.silence(position, position + 1)
        else:
            horizon.publication(held(position))
        passed += [each.position for each in horizon.ready()]
        known = {*silent, *range(1, LAST + 1)}
        assert all(start not in known or start >= (horizon.next or 0) for start, _ in horizon.unknown(9))
    assert passed == [position for position in range(first, LAST + 1) if position not in silent]
    assert horizon.next == LAST + 1
    assert horizon.unknown(9) == []


def test_a_leaf_that_does_not_follow_holds_nothing_back() -> None:
    horizon = Horizon(1 << 20)
    horizon.publication(held(3))
    horizon.head(9)
    assert list(horizon.ready()) == []
    assert horizon.unknown(9) == []


def test_an_announced_end_makes_the_tail_unknown() -> None:
    horizon = Horizon(1 << 20)
    horizon.follow(4)
    horizon.publication(held(6))
    assert horizon.unknown(9) == [(4, 6)]
    horizon.head(9)
    assert horizon.unknown(9) == [(4, 6), (7, 9)]
    assert horizon.unknown(1) == [(4, 6)]


def test_what_does_not_fit_is_unknown_again() -> None:
    horizon = Horizon(25)
    horizon.follow(1)
    for position in (2, 3, 4):
        horizon.publication(held(position))
    assert horizon.unknown(9) == [(1, 2), (4, 5)]
    horizon.publication(held(1, size=100))
    assert [each.position for each in horizon.ready()] == [1, 2, 3]
    horizon.publication(held(4))
    assert [each.position for each in horizon.ready()] == [4]


def test_a_leaf_that_follows_again_begins_anew() -> None:
    horizon = Horizon(1 << 20)
    horizon.follow(1)
    horizon.publication(held(2))
    horizon.leave()
    horizon.follow(2)
    assert list(horizon.ready()) == []
    horizon.silence(1, 4)
    assert (list(horizon.ready()), horizon.next) == ([], 4)


def test_without_an_order_publications_pass_when_they_arrive_and_once() -> None:
    horizon = UnorderedHorizon(1 << 20)
    horizon.follow(1)
    passed = []
    for position in (3, 3, 1, 2, 3, 1):
        horizon.publication(held(position))
        passed += [each.position for each in horizon.ready()]
        if position == 3 and passed == [3]:
            assert horizon.unknown(9) == [(1, 3)]
    assert (passed, horizon.next, horizon.unknown(9)) == ([3, 1, 2], 4, [])


@pytest.mark.parametrize("kind", HORIZONS.values(), ids=HORIZONS)
@given(
    first=st.integers(1, 4),
    arrivals=st.lists(st.tuples(st.integers(1, LAST), st.integers(0, 3), st.booleans()), max_size=30),
)
@example(first=1, arrivals=[(2, 0, True), (1, 0, True)])
@example(first=1, arrivals=[(2, 1, False), (1, 0, True)])
def test_what_passes_at_once_leaves_the_horizon_as_if_it_had_been_held_back(
    kind: type[Horizon], first: int, arrivals: list[tuple[int, int, bool]]
) -> None:
    quick, slow = kind(1 << 20), kind(1 << 20)
    for horizon in (quick, slow):
        horizon.follow(first)
    for start, silent, is_publication in arrivals:
        position = start + silent
        passed: list[list[int]] = []
        for horizon in (quick, slow):
            if horizon is quick and is_publication and horizon.passes(start, position):
                passed.append([position])
                continue
            horizon.silence(start, position)
            if is_publication:
                horizon.publication(held(position))
            passed.append([each.position for each in horizon.ready()])
        assert passed[0] == passed[1]
        assert (quick.next, quick.end, quick.unknown(9)) == (slow.next, slow.end, slow.unknown(9))
        assert (quick.publications, quick.bytes) == (slow.publications, slow.bytes)
