from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.outages import FAULT_RULES, FOREVER, Break, Stretches, breaks, losing, stretches
from analysis.reading.reading import Outage, Place
from emulation.faults import conditions

times = st.integers(0, 30)
pairs = st.lists(st.tuples(times, times).map(lambda pair: (min(pair), max(pair))), max_size=6)
BROKERS = frozenset({"B1", "B2", "B-3"})


@given(pairs, times, times)
def test_stretches_meet_what_any_of_them_meets(given_: list[tuple[int, int]], one: int, other: int) -> None:
    start, end = min(one, other), max(one, other)
    naive = any(begin <= end and start <= last for begin, last in given_)
    assert Stretches.of(given_).meets(start, end) is naive


@given(pairs, times, times)
def test_what_an_outage_meets_waits_for_its_end(given_: list[tuple[int, int]], one: int, other: int) -> None:
    since, until = min(one, other), max(one, other)
    settled = Stretches.of(given_).settled(since, until)
    assert settled >= until
    assert settled == until or any(end == settled for _, end in given_)
    assert not any(begin <= until and since <= end > settled for begin, end in given_), "one that it met still lasts"


def outage(at: int, what: str, kind: str, broken: bool) -> Outage:
    return Outage(Place(at, "emulator", 0, 0), 0, "", what, kind, broken)


def test_a_fault_lasts_until_it_is_healed_and_some_time_more() -> None:
    found = stretches([outage(10, "B1", "kill", True), outage(20, "B1", "restart", False)], 5, BROKERS)
    assert found == Stretches.of([(10, 25)])


def test_a_fault_that_is_never_healed_lasts_for_ever() -> None:
    assert stretches([outage(10, "B1", "kill", True)], 5, BROKERS).ends == (FOREVER,)


def test_only_what_mends_a_fault_ends_it() -> None:
    events = [
        outage(10, "B1", "slow", True),
        outage(12, "B1", "kill", True),
        outage(14, "B2", "restart", False),
        outage(20, "B1", "restart", False),
    ]
    assert stretches(events, 5, BROKERS).ends == (FOREVER,), "it is still slow"
    assert stretches([*events, outage(30, "B1", "full_speed", False)], 5, BROKERS) == Stretches.of([(10, 35)])


def test_a_link_is_whole_when_both_directions_are() -> None:
    cut = outage(10, "B1-B-3", "link_down", True)
    there, back = outage(20, "B1->B-3", "link_up", False), outage(30, "B-3->B1", "link_up", False)
    assert stretches([cut, there, back], 1, BROKERS) == Stretches.of([(10, 31)])
    assert stretches([cut, outage(15, "B-3-B1", "link_up", False)], 1, BROKERS) == Stretches.of([(10, 16)])


def test_a_fault_of_an_unknown_kind_is_ended_by_any_repair_of_the_same_thing() -> None:
    events = [outage(10, "B2", "meteorite", True), outage(20, "B2", "rebuilt", False)]
    assert stretches(events, 5, BROKERS) == Stretches.of([(10, 25)])


def test_the_recovery_from_a_death_waits_for_what_keeps_brokers_silent() -> None:
    """B1 is dead from 10 to 20, and recovery takes 5; a pause that begins meanwhile, and a cut that begins during the
    recovery from that, put it off; what comes after does not, nor does a slow broker."""
    death = [outage(10, "B1", "kill", True), outage(20, "B1", "restart", False)]
    pause = [outage(24, "B2", "pause", True), outage(40, "B2", "resume", False)]
    cut = [outage(44, "B1-B-3", "link_down", True), outage(50, "B1-B-3", "link_up", False)]
    later = [outage(56, "B2", "pause", True), outage(70, "B2", "resume", False)]
    slow = [outage(12, "B2", "slow", True), outage(90, "B2", "full_speed", False)]
    earlier = [outage(2, "B2-B1", "link_down", True), outage(30, "B2-B1", "link_up", False)]
    assert losing([*death, *slow], 5, BROKERS) == Stretches.of([(10, 25)])
    assert losing([*death, *pause], 5, BROKERS) == Stretches.of([(10, 45)])
    assert losing([*death, *pause, *cut, *later], 5, BROKERS) == Stretches.of([(10, 55)])
    assert losing([*death, *earlier], 5, BROKERS) == Stretches.of([(10, 35)])
    assert losing([*pause, *cut], 5, BROKERS) == Stretches.of([])
    assert losing([*death, *pause[:1]], 5, BROKERS).ends == (FOREVER,)


def test_every_kind_that_can_be_asked_for_has_a_rule() -> None:
    healed_by = {"kill": "restart", "stop": "restart"}
    for condition in (*conditions.OF_BROKERS, *conditions.OF_LINKS):
        if condition is not conditions.Down:
            healed_by[getattr(condition, "begins_by")] = condition.heals_by  # noqa: B009 - the others have it
    assert {kind: rule.healed_by for kind, rule in FAULT_RULES.items()} == healed_by
    assert {kind for kind, rule in FAULT_RULES.items() if rule.excuses_loss} == {"kill", "stop"}
    assert {kind for kind, rule in FAULT_RULES.items() if rule.silences} == {"kill", "stop", "pause", "link_down"}


def test_breaks_tell_what_was_broken_in_which_way() -> None:
    events = [
        outage(10, "B1-B-3", "degrade", True),
        outage(12, "B1-B-3", "link_down", True),
        outage(13, "B-3->B1", "link_up", False),
        outage(14, "B1->B-3", "link_up", False),
    ]
    assert breaks(events, BROKERS) == [
        Break(10, "degrade", "B1-B-3", FOREVER),
        Break(10, "degrade", "B1-B-3", FOREVER),
        Break(12, "link_down", "B1-B-3", 13),
        Break(12, "link_down", "B1-B-3", 14),
    ]
