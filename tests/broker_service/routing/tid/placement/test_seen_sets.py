"""The memory of sets: each is new once, however late it comes again, within a bound that all units share."""

from __future__ import annotations

from broker_service.routing.tid.placement.seen_sets import SeenSets


def test_a_set_is_new_once_for_each_unit() -> None:
    sets = SeenSets()
    tried = ("u", "p", "q"), ("u", "p", "q"), ("u", "p"), ("u", "q", "p"), ("v", "p", "q")
    assert [sets.add(*one) for one in tried] == [True, False, True, True, True]


def test_what_others_bring_makes_a_set_new_again_only_beyond_the_bound() -> None:
    sets = SeenSets()
    assert sets.add("u", "late", "too late")
    for number in range(35_000):
        sets.add("v", f"p{number}", f"q{number}")
    assert not sets.add("u", "late", "too late")


def test_no_more_than_the_bound_is_remembered_and_the_latest_are() -> None:
    sets = SeenSets(most_bytes=3_600)
    for number in range(100):
        sets.add("u", str(number))
        assert len(sets) <= 10
    assert not any(sets.add("u", str(number)) for number in range(90, 100))
