"""Slow readers: drops that the policy allows, and those that it does not."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from analysis.judging.histories.unread import Unread, unread_of
from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import Reading
from record.log import Event
from record.unread import SlowReaders, UnreadPolicy

NEWEST, OLDEST, END = UnreadPolicy.DROP_NEWEST, UnreadPolicy.DROP_OLDEST, UnreadPolicy.END_SESSION


def reading(event: Event, time: int, publication: str = "", amount: int = 0) -> Reading:
    return Reading(0, "S", event, time, "B1", publication, amount)


def delivered(*publications: str, at: int = 0, size: int = 10) -> list[Reading]:
    return [reading(Event.DELIVERED, time, name, size) for time, name in enumerate(publications, at)]


def dropped(publication: str, at: int) -> Reading:
    return reading(Event.DROPPED, at, publication)


def told(count: int, at: int) -> Reading:
    return reading(Event.MISSED, at, amount=count)


def read(publication: str, at: int) -> Reading:
    return reading(Event.NOTIFIED, at, publication)


def unread(policy: UnreadPolicy, readings: Iterable[Reading], most: int = 2, most_bytes: int = 1000) -> Unread:
    return unread_of(["S"], SlowReaders(policy=policy, notifications=most, bytes=most_bytes), readings)


def cost(found: Unread) -> set[str]:
    return {publication for _, publication in found.costs}


FULL = delivered("a", "b", "c")


@pytest.mark.parametrize(
    ("policy", "drop", "costs"),
    [(NEWEST, "c", {"c"}), (NEWEST, "a", set()), (OLDEST, "a", {"a"}), (OLDEST, "c", set()), (OLDEST, "b", set())],
)
def test_the_policy_says_which_is_dropped(policy: UnreadPolicy, drop: str, costs: set[str]) -> None:
    assert cost(unread(policy, [*FULL, dropped(drop, 2), told(1, 9)])) == costs


@pytest.mark.parametrize(("policy", "drop"), [(NEWEST, "c"), (OLDEST, "a")])
def test_nothing_is_dropped_while_there_is_room(policy: UnreadPolicy, drop: str) -> None:
    assert not cost(unread(policy, [*FULL, dropped(drop, 2), told(1, 9)], most=3))
    emptied = [*delivered("a", "b"), read("a", 3), read("b", 4), *delivered("c", at=5), dropped("c", 5), told(1, 9)]
    assert not cost(unread(policy, emptied))


def test_a_bound_of_bytes_is_one() -> None:
    assert cost(unread(NEWEST, [*FULL, dropped("c", 2), told(1, 9)], most=9, most_bytes=25)) == {"c"}
    assert cost(unread(OLDEST, [*FULL, dropped("a", 2), told(1, 9)], most=9, most_bytes=25)) == {"a"}
    assert not cost(unread(NEWEST, [*FULL, dropped("c", 2), told(1, 9)], most=9, most_bytes=30))


def test_as_many_are_the_policys_as_the_client_was_told_of() -> None:
    drops = [*delivered("a", "b", "c", "d"), dropped("c", 2), dropped("d", 3)]
    found = unread(NEWEST, [*drops, read("a", 5), told(1, 6)])
    assert (cost(found), found.untold) == ({"c"}, {("S", "d")})
    found = unread(NEWEST, [*drops, told(1, 6), read("b", 6), *delivered("e", at=7), read("e", 9)])
    assert (cost(found), found.untold) == ({"c"}, frozenset())


def test_what_was_never_read_waits_unless_something_behind_it_was_read() -> None:
    assert unread(NEWEST, [*delivered("a", "b"), read("a", 5)], most=9).waiting == {("S", "b")}
    assert not unread(NEWEST, [*delivered("a", "b"), read("b", 5)], most=9).waiting


def test_a_session_that_breaks_by_a_fault_costs_what_was_outstanding() -> None:
    broke = [reading(Event.LINK_DOWN, 6)]
    bounds = SlowReaders(policy=NEWEST, notifications=9, bytes=1000)
    found = unread_of(["S"], bounds, [*delivered("a", "b"), read("a", 5), *delivered("c", at=7)], broke)
    assert (cost(found), found.waiting) == ({"b"}, {("S", "c")})


def test_the_end_of_a_session_costs_what_was_outstanding() -> None:
    found = unread(END, [*FULL, dropped("c", 2), *delivered("d", at=50), read("d", 60)])
    assert cost(found) == {"a", "b", "c"}
    assert found.ended == {"S": [2]}
    early = unread(END, [*delivered("a", "b"), dropped("b", 1)])
    assert (cost(early), early.ended) == (set(), {})


def test_an_answer_comes_behind_what_was_put_into_the_session_before() -> None:
    """Broken by looking up the notification that came after, or by leaving out those that are not read."""
    found = unread(OLDEST, [*delivered("a", "b", at=5), read("a", 20), read("b", 30), *delivered("c", at=40)], most=9)
    assert [found.caught_up("S", until) for until in (4, 5, 6, 39, 40)] == [-1, 20, 30, 30, FOREVER]
    assert found.caught_up("T", 6) == -1
