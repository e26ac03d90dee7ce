"""The cost of each kind of fault, and the time in which it applies."""

from __future__ import annotations

import pytest

from analysis.judging.histories.fault_costs import silent_intervals
from analysis.judging.histories.losses import losses_of
from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.log_events import LogPosition, OutageEvent
from record.faults import FaultKind
from record.promises import Loss, Promises

PROMISES = Promises()
BROKERS = frozenset({"B1", "B2", "B-3"})


def event(at: int, target: str, kind: str, begins: bool) -> OutageEvent:
    return OutageEvent(LogPosition(at, "emulator", 0, 0), 0, "", target, kind, begins)


def lossy_intervals(
    faults: list[OutageEvent], promises: Promises, lingering: int, brokers: frozenset[str]
) -> Intervals:
    """The time of all lossy outages together, until the overlay has recovered from each."""
    found = losses_of(faults, promises, lingering, brokers)
    return Intervals.of((outage.begin, outage.recovered) for outage in found)


def test_the_recovery_from_a_death_waits_for_what_keeps_brokers_silent() -> None:
    """B1 is down from 10 to 20, and recovery takes 5; a pause that begins meanwhile, and a cut that begins during the
    recovery from that, put it off; what comes after does not, nor does a slow broker."""
    death = [event(10, "B1", "kill", True), event(20, "B1", "restart", False)]
    pause = [event(24, "B2", "pause", True), event(40, "B2", "resume", False)]
    cut = [event(44, "B1-B-3", "link_down", True), event(50, "B1-B-3", "link_up", False)]
    later = [event(56, "B2", "pause", True), event(70, "B2", "resume", False)]
    slow = [event(12, "B2", "slow", True), event(90, "B2", "full_speed", False)]
    earlier = [event(2, "B2-B1", "link_down", True), event(30, "B2-B1", "link_up", False)]
    assert lossy_intervals([*death, *slow], PROMISES, 5, BROKERS) == Intervals.of([(10, 25)])
    assert lossy_intervals([*death, *pause], PROMISES, 5, BROKERS) == Intervals.of([(10, 45)])
    assert lossy_intervals([*death, *pause, *cut, *later], PROMISES, 5, BROKERS) == Intervals.of([(10, 55)])
    assert lossy_intervals([*death, *earlier], PROMISES, 5, BROKERS) == Intervals.of([(10, 35)])
    assert lossy_intervals([*pause, *cut], PROMISES, 5, BROKERS) == Intervals.of([])
    assert lossy_intervals([*death, *pause[:1]], PROMISES, 5, BROKERS).ends == (FOREVER,)


@pytest.mark.parametrize("kind", [kind for kind in FaultKind if not kind.of_clients])
def test_each_kind_costs_what_the_guarantees_say(kind: FaultKind) -> None:
    fault = [event(10, "B1", kind, True), event(20, "B1", kind.healed_by, False)]
    lasts, never = Intervals.of([(10, 25)]), Intervals()
    assert lossy_intervals(fault, PROMISES, 5, BROKERS) == (lasts if kind in {"kill", "stop", "disturb"} else never)
    silencing = kind in {"kill", "stop", "pause", "link_down", "reset", "disturb"}
    assert silent_intervals(fault, PROMISES, 5, BROKERS) == (lasts if silencing else never)


@pytest.mark.parametrize("kind", ["meteorite", "kill", "slow"])
def test_a_fault_that_is_not_survived_excuses_everything(kind: str) -> None:
    known = FaultKind.named(kind)
    heal = known.healed_by if known else "rebuilt"
    fault = [event(10, "B1", kind, True), event(20, "B1", heal, False)]
    lasts, promises = Intervals.of([(10, 25)]), Promises(survives={FaultKind.PAUSE: Loss.NOTHING})
    assert lossy_intervals(fault, promises, 5, BROKERS) == silent_intervals(fault, promises, 5, BROKERS) == lasts


@pytest.mark.parametrize("loss", [Loss.NOTHING, Loss.UNACCEPTED, Loss.OWN_CLIENTS])
def test_only_a_protocol_that_promises_less_loses_what_is_in_flight(loss: Loss) -> None:
    fault = [event(10, "B1", "kill", True), event(20, "B1", "restart", False)]
    promises = Promises(survives={FaultKind.KILL: loss})
    assert lossy_intervals(fault, promises, 5, BROKERS) == Intervals()
    assert silent_intervals(fault, promises, 5, BROKERS) == Intervals.of([(10, 25)])
