"""The injector in virtual time: which actions come out when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from broker_service.config import Disturbance
from emulation.faults import Action, FaultInjector
from record.faults import FaultKind, HealKind
from record.service_time import ServiceTime
from record.time_units import SECOND
from scenario.faults import Counter, CountReached, Counts
from scenario.faults.conditions import (
    Condition,
    Corrupted,
    Cut,
    Degraded,
    Disturbed,
    Down,
    LinkChange,
    Paused,
    Reset,
    Slowed,
    Throttled,
)
from scenario.faults.planning import FaultSchedule, ScheduledFault
from scenario.faults.programs import Hold, Lift, Program, Repeat, Wait
from scenario.faults.programs import Sequence as Then
from tests.scenario.faults.overlays import overlay_of
from topology.link_properties import Link, LinkDirection, LinkProperties

OVERLAY = overlay_of(("B1", "B2"), ("B2", "B3"), ("B3", "B1"), delay=0.01, rate=1e6)
OWN = LinkProperties(delay=0.01, rate=1e6)
AB, BA = LinkDirection("B1", "B2"), LinkDirection("B2", "B1")
KILL, STOP = Down("B1", FaultKind.KILL), Down("B1", FaultKind.STOP)


def injector(*entries: tuple[float | CountReached, Program]) -> FaultInjector:
    """Faults that start at these seconds after the start, or at a count."""
    made = [
        ScheduledFault(start if isinstance(start, CountReached) else round(start * SECOND), program, "fault")
        for start, program in entries
    ]
    return FaultInjector(FaultSchedule(tuple(made)), OVERLAY)


def played(faults: FaultInjector, until: float) -> list[tuple[float, str]]:
    """All actions up to a time, each at the very moment it is due, and the final heal."""
    done = []
    while (time := faults.next_time) is not None and time <= until * SECOND:
        done += [(time / SECOND, str(action)) for action in faults.advance(time)]
    return done + [(until, str(action)) for action in faults.heal()]


def test_a_kill_and_its_restart() -> None:
    faults = injector((2, Hold((KILL,), 5)))
    assert faults.advance(2 * SECOND - 1) == []
    assert not faults.in_effect
    assert faults.advance(2 * SECOND) == [Action(FaultKind.KILL, "B1")]
    assert faults.in_effect
    assert faults.next_time == 7 * SECOND
    assert faults.advance(7 * SECOND) == [Action(HealKind.RESTART, "B1")]
    assert not faults.in_effect
    assert faults.next_time is None


def test_what_lasts_is_healed_at_the_end_and_nothing_comes_after() -> None:
    faults = injector((1, Hold((KILL, Cut(AB), Cut(BA)))), (9, Hold((Paused("B2"),))))
    faults.advance(SECOND)
    assert [str(action) for action in faults.heal()] == ["restart B1", "link_up B1->B2", "link_up B2->B1"]
    assert faults.next_time is None
    assert faults.advance(99 * SECOND) == []


def test_a_broker_that_is_down_goes_down_no_further() -> None:
    faults = injector((1, Hold((STOP,), 10)), (2, Hold((KILL,), 20)), (30, Hold((KILL,), 1)))
    assert played(faults, 40) == [(1, "stop B1"), (22, "restart B1"), (30, "kill B1"), (31, "restart B1")]


def test_a_restart_ends_a_kill_early_and_its_end_does_not_end_a_later_one() -> None:
    faults = injector((1, Hold((KILL,), 10)), (3, Lift(Down, frozenset({"B1"}))), (5, Hold((KILL,), 60)))
    assert played(faults, 50) == [(1, "kill B1"), (3, "restart B1"), (5, "kill B1"), (50, "restart B1")]


def test_a_lift_leaves_other_brokers_and_other_conditions_alone() -> None:
    both = Hold((KILL, Down("B2", FaultKind.KILL), Paused("B3")))
    faults = injector((1, both), (2, Lift(Down, frozenset({"B2", "B3"}))))
    assert played(faults, 9) == [
        (1, "kill B1"), (1, "kill B2"), (1, "pause B3"), (2, "restart B2"), (9, "restart B1"), (9, "resume B3"),
    ]  # fmt: skip


def test_two_cuts_of_one_link_end_with_the_last() -> None:
    faults = injector((1, Hold((Cut(AB), Cut(BA)), 10)), (5, Hold((Cut(AB),), 10)))
    assert played(faults, 40) == [
        (1, "link_down B1->B2"), (1, "link_down B2->B1"), (11, "link_up B2->B1"), (15, "link_up B1->B2"),
    ]  # fmt: skip


def test_degradations_add_up_and_come_off_one_by_one() -> None:
    slower, lossy = Degraded(AB, LinkChange(delay=0.05)), Degraded(AB, LinkChange(loss=0.1, rate=1e5))
    faults = injector((1, Hold((slower,), 10)), (2, Hold((lossy,), 3)))
    assert faults.advance(SECOND) == [Action(FaultKind.DEGRADE, AB, LinkProperties(delay=0.05, rate=1e6))]
    assert faults.advance(2 * SECOND) == [Action(FaultKind.DEGRADE, AB, LinkProperties(delay=0.05, loss=0.1, rate=1e5))]
    assert faults.advance(5 * SECOND) == [Action(FaultKind.DEGRADE, AB, LinkProperties(delay=0.05, rate=1e6))]
    assert faults.advance(11 * SECOND) == [Action(HealKind.RECOVER, AB, OWN)]


def test_the_later_setting_counts() -> None:
    faults = injector((1, Hold((Throttled("B1", 0.5),), 10)), (2, Hold((Throttled("B1", 0.1),), 3)))
    settings = [action.setting for time in (1, 2, 5, 11) for action in faults.advance(time * SECOND)]
    assert settings == [0.5, 0.1, 0.5, None]


def test_a_broker_that_is_down_is_nothing_else() -> None:
    slow = Slowed("B1", ServiceTime(mean=0.005))
    faults = injector((1, Hold((Paused("B1"), slow), 30)), (2, Hold((KILL,), 5)), (3, Hold((Throttled("B1", 0.5),))))
    assert played(faults, 40) == [
        (1, "pause B1"), (1, "slow B1"),
        (2, "kill B1"), (2, "resume B1"), (2, "full_speed B1"),
        (7, "restart B1"), (7, "pause B1"), (7, "throttle B1"), (7, "slow B1"),
        (31, "resume B1"), (31, "full_speed B1"),
        (40, "unthrottle B1"),
    ]  # fmt: skip


def test_counts() -> None:
    at = CountReached(1000, Counter.NOTIFICATIONS)
    faults = injector((at, Hold((KILL,), 5)), (CountReached(3, Counter.PUBLICATIONS), Hold((Paused("B2"),))))
    assert faults.awaits_counts
    assert faults.advance(SECOND, Counts(999, 2)) == []
    assert [str(action) for action in faults.advance(2 * SECOND, Counts(1017, 2))] == ["kill B1"]
    assert faults.awaits_counts
    assert faults.advance(3 * SECOND, Counts(2000, 2)) == [], "once only"
    assert [str(action) for action in faults.advance(7 * SECOND, Counts(3000, 3))] == ["restart B1", "pause B2"]
    assert not faults.awaits_counts


def test_a_late_look_leaves_nothing_out() -> None:
    flapping = Repeat(Then((Hold((Cut(AB),), 0.1), Wait(0.1))), 3)
    late = injector((1, flapping)).advance(60 * SECOND)
    assert [str(action) for action in late] == ["link_down B1->B2", "link_up B1->B2"] * 3


def test_a_reset_takes_no_time_and_may_come_again_at_once() -> None:
    once = Hold((Reset(AB), Reset(AB.reverse)), 0.0)
    faults = injector((1, once), (1, once))
    assert [str(action) for action in faults.advance(SECOND)] == 2 * [
        "reset B1->B2", "reset B2->B1", "reconnect B1->B2", "reconnect B2->B1"
    ]  # fmt: skip
    assert not faults.in_effect


def test_equal_times_keep_the_order_of_the_scenario() -> None:
    faults = injector((1, Hold((Paused("B3"),))), (1, Hold((Paused("B1"),))), (1, Hold((Paused("B2"),))))
    assert [str(action) for action in faults.advance(SECOND)] == ["pause B3", "pause B1", "pause B2"]


def test_a_heal_comes_in_the_order_of_its_fault() -> None:
    faults = injector((1, Hold((Paused("B3"),), 1)), (2, Hold((Paused("B1"),))))
    assert played(faults, 3)[1:3] == [(2, "resume B3"), (2, "pause B1")]


BROKERS = st.sampled_from(["B1", "B2", "B3"])
DIRECTIONS = st.sampled_from([LinkDirection(link.a, link.b) for link in OVERLAY.links])
CONDITIONS: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Down, BROKERS, st.sampled_from([FaultKind.KILL, FaultKind.STOP])),
    st.builds(Paused, BROKERS),
    st.builds(Throttled, BROKERS, st.sampled_from([0.1, 0.5])),
    st.builds(Cut, DIRECTIONS),
    st.builds(Degraded, DIRECTIONS, st.builds(LinkChange, st.none() | st.just(0.5), loss=st.none() | st.just(0.1))),
    st.builds(Corrupted, DIRECTIONS, st.sampled_from([0.01, 0.1])),
    st.builds(Disturbed, DIRECTIONS, st.sampled_from([Disturbance(lose=0.1), Disturbance(repeat=0.1)])),
)
HOLDS = st.builds(Hold, st.lists(CONDITIONS, min_size=1, max_size=3).map(tuple), st.none() | st.integers(1, 9))


CONDITION_OF = {
    FaultKind.KILL: Down, FaultKind.STOP: Down, HealKind.RESTART: Down,
    FaultKind.PAUSE: Paused, HealKind.RESUME: Paused,
    FaultKind.THROTTLE: Throttled, HealKind.UNTHROTTLE: Throttled,
    FaultKind.LINK_DOWN: Cut, HealKind.LINK_UP: Cut,
    FaultKind.DEGRADE: Degraded, HealKind.RECOVER: Degraded,
    FaultKind.CORRUPT: Corrupted, HealKind.CLEAN: Corrupted,
    FaultKind.DISTURB: Disturbed, HealKind.UNDISTURB: Disturbed,
}  # fmt: skip


def naive(holds: Sequence[tuple[int, Hold]], now: int) -> dict[tuple[type, Any], Any]:
    """Conditions in effect at a time, from first principles: all that hold then, in the order of their start."""
    here: dict[tuple[type, Any], Any] = {}
    holding = [c for start, hold in sorted(holds, key=lambda item: item[0]) for c in hold.conditions
               if start <= now and (hold.seconds is None or now < start + hold.seconds)]  # fmt: skip
    down = {condition.target for condition in holding if isinstance(condition, Down)}
    for condition in holding:
        key = (type(condition), condition.target)
        match condition:
            case Down():
                here[key] = None
            case _ if condition.target in down:
                continue
            case Degraded(_, change):
                here[key] = change.applied(here.get(key, OWN))
            case Throttled(_, setting) | Corrupted(_, setting) | Disturbed(_, setting):
                here[key] = setting
            case _:
                here[key] = None
    return here


@given(st.lists(st.tuples(st.integers(0, 12), HOLDS), max_size=8))
def test_actions_bring_about_what_holds(holds: list[tuple[int, Hold]]) -> None:
    faults = injector(*holds)
    actual: dict[tuple[type, Any], Any] = {}

    def apply(actions: list[Action]) -> None:
        for action in actions:
            key = (CONDITION_OF[action.kind], action.target)
            if action.heals:
                assert key in actual, f"{action} heals what is not wrong"
                del actual[key]
            else:
                assert key not in actual or actual[key] != action.setting, f"{action} changes nothing"
                actual[key] = action.setting

    for now in range(25):
        apply(faults.advance(now * SECOND))
        assert actual == naive(holds, now)
    apply(faults.heal())
    assert actual == {}
    assert faults.next_time is None


def test_a_fault_misses_a_link_that_is_not_there() -> None:
    faults = injector((1, Hold((Cut(LinkDirection("B1", "B4")), Cut(AB)), 5)))
    faults.vanishes("B1", "B2")
    assert faults.advance(SECOND) == [
        Action(FaultKind.LINK_DOWN, LinkDirection("B1", "B4"), missed=True),
        Action(FaultKind.LINK_DOWN, AB, missed=True),
    ]
    assert not faults.in_effect
    assert faults.advance(6 * SECOND) == []


def test_a_link_is_healed_before_it_vanishes_and_hit_again_when_it_appears() -> None:
    lossy = Degraded(AB, LinkChange(loss=0.1))
    faults = injector((1, Hold((Cut(AB), Cut(BA), lossy), 10)))
    faults.advance(SECOND)
    healed = faults.vanishes("B2", "B1")
    assert {str(action) for action in healed} == {"link_up B1->B2", "link_up B2->B1", "recover B1->B2"}
    assert Action(HealKind.RECOVER, AB, OWN) in healed
    assert not faults.in_effect
    other = LinkProperties(delay=0.02)
    appeared = faults.appeared(Link("B1", "B2", other, LinkProperties()))
    assert Action(FaultKind.DEGRADE, AB, LinkProperties(delay=0.02, loss=0.1)) in appeared
    assert {str(action) for action in appeared} == {"link_down B1->B2", "link_down B2->B1", "degrade B1->B2"}
    assert Action(HealKind.RECOVER, AB, other) in faults.advance(11 * SECOND)


def test_a_fault_that_is_added_is_one_of_the_schedule() -> None:
    added = ScheduledFault(3 * SECOND, Hold((Down("B2", FaultKind.KILL),), 2), "fault")
    faults, planned = injector((2, Hold((KILL,), 5))), FaultInjector(FaultSchedule((added,)), OVERLAY)
    assert planned.advance(2 * SECOND) == []
    assert faults.advance(2 * SECOND) == [Action(FaultKind.KILL, "B1")]
    faults.add(added)
    assert faults.advance(3 * SECOND) == planned.advance(3 * SECOND) == [Action(FaultKind.KILL, "B2")]
    assert faults.effects == [Action(FaultKind.KILL, "B1"), Action(FaultKind.KILL, "B2")]
    assert faults.advance(5 * SECOND) == planned.advance(5 * SECOND) == [Action(HealKind.RESTART, "B2")]
    assert faults.effects == [Action(FaultKind.KILL, "B1")]
