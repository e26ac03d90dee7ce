"""From a scenario's faults to a schedule."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from emulation.faults import require_possible
from record.errors import HostError
from record.faults import FaultKind
from scenario.faults import Counter, CountReached, FaultError, Moment, Phase, Targets, plan
from scenario.faults.conditions import Cut, Down, Throttled
from scenario.faults.planning import FaultSchedule
from scenario.faults.programs import Hold, Lift, Program
from scenario.faults.times import When
from tests.scenario.faults.overlays import DUMBBELL, random_overlay

AT_ONCE = Moment(1.0)


@dataclass
class Kills:
    who: str
    when: When = AT_ONCE
    verb: str = "kill"

    def program(self, targets: Targets) -> Program:
        return Hold(tuple(Down(broker, FaultKind.KILL) for broker in targets.brokers([self.who])))


@dataclass
class Restarts(Kills):
    verb: str = "restart"

    def program(self, targets: Targets) -> Program:
        return Lift(Down, frozenset(targets.brokers([self.who])))


@dataclass
class Holds(Kills):
    condition: type = Cut
    verb: str = "test"

    def program(self, targets: Targets) -> Program:
        if self.condition is Cut:
            return Hold(tuple(map(Cut, targets.directions([self.who]))))
        return Hold(tuple(self.condition(broker, 0.5) for broker in targets.brokers([self.who])))


def planned(*faults: Kills, seed: int = 1) -> FaultSchedule:
    return plan(faults, DUMBBELL, join=10, run=60, seed=seed)


def test_times() -> None:
    count = CountReached(7, Counter.PUBLICATIONS)
    faults = [Kills("M", Moment(2.5)), Kills("M", Moment(2.5, Phase.RUN)), Kills("M", count)]
    assert [entry.start for entry in planned(*faults).entries] == [2_500_000_000, 12_500_000_000, count]


def test_two_random_kills_kill_two_brokers_and_the_same_ones_again() -> None:
    faults = (Kills("random"), Kills("random(2)"), Kills("random"))
    schedule = planned(*faults)
    assert len(schedule.brokers) == 4
    assert schedule == planned(*faults)
    assert len({planned(*faults, seed=seed).brokers for seed in range(10)}) > 5


def test_a_fault_more_at_the_end_changes_no_earlier_one() -> None:
    overlay = random_overlay(3, 20)
    few = plan([Kills("random(3)")], overlay, join=1, run=9, seed=1)
    more = plan([Kills("random(3)"), Kills("random(3)")], overlay, join=1, run=9, seed=1)
    assert more.entries[:1] == few.entries


def test_what_is_hit() -> None:
    schedule = planned(Kills("M"), Holds("A1->A2"), Holds("bridge(2)"))
    assert schedule.brokers == {"M"}
    assert schedule.links == {frozenset(("A1", "A2")), frozenset(("A1", "M")), frozenset(("M", "Z1"))}
    assert schedule
    assert not planned()


def error(*faults: Kills) -> tuple[int, str, str]:
    with pytest.raises(FaultError) as raised:
        planned(*faults)
    return raised.value.index, raised.value.field, raised.value.message


def test_errors_name_the_entry_and_the_field() -> None:
    index, field, message = error(Kills("M"), Kills("B99"))
    assert (index, field) == (1, "kill")
    assert message.startswith("the overlay has no broker 'B99'")
    index, field, message = error(Kills("M", Moment(60.0, Phase.RUN)))
    assert (index, field) == (0, "at")
    assert message == "70 s after the start, but all faults end with the run phase, at 70 s"
    assert planned(Kills("M", Moment(59.9, Phase.RUN)))


def test_heals_need_something_to_heal() -> None:
    assert planned(Kills("M"), Restarts("M"))
    assert planned(Restarts("M"), Kills("M")), "the order is a matter of times, and counts, not of lines"
    nothing = "nothing to heal: no fault of this scenario is to hit"
    assert error(Kills("M"), Restarts("A1")) == (1, "restart", f"{nothing} A1 so")
    assert error(Holds("A1-A2"), Restarts("A1")) == (1, "restart", f"{nothing} A1 so")


@pytest.mark.parametrize(
    ("condition", "runtime", "message"),
    [
        (Throttled, "process", "the runtime process cannot do faults[0].test (throttle): a plain process"),
        (Throttled, "simulated", "the runtime simulated cannot do faults[0].test (throttle): virtual time"),
    ],
)
def test_a_runtime_that_cannot_is_named(condition: type, runtime: str, message: str) -> None:
    with pytest.raises(HostError) as raised:
        require_possible(planned(Holds("M", condition=condition)), runtime)
    assert str(raised.value).startswith(message)


def test_a_runtime_that_can_is_let_through() -> None:
    require_possible(planned(Holds("M", condition=Throttled), Kills("M")), "container")
    require_possible(planned(Kills("M"), Holds("A1-A2")), "simulated")


def test_brokers_start_as_often_as_they_go_down_and_once_more() -> None:
    assert planned(Holds("A1-A2")).starts(70.0) == {}
    twice = planned(Kills("M"), Kills("M", Moment(20.0)), Kills("A1", Moment(50.0)))
    assert twice.starts(70.0) == {"A1": 2, "M": 3}
    assert twice.starts(30.0) == {"M": 3}
