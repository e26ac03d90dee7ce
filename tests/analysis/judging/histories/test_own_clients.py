"""The time for which the crash of a broker concerns its own clients. Nanoseconds."""

from __future__ import annotations

import pytest

from analysis.judging.histories.own_clients import VariantOutages, own_clients_of
from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.log_events import LogPosition, OutageEvent
from record.faults import FaultKind
from record.promises import Loss, Promises

SPARING = Promises(survives={FaultKind.KILL: Loss.UNACCEPTED, FaultKind.STOP: Loss.OWN_CLIENTS})


def event(at: int, kind: str, *, begins: bool) -> OutageEvent:
    return OutageEvent(LogPosition(at, "emulator", 0, 0), 0, "", "B1", kind, begins)


@pytest.mark.parametrize(("served", "until"), [(150, 150), (900, 300), (FOREVER, 300)])
def test_it_ends_when_they_are_served_again_or_the_overlay_has_recovered(served: int, until: int) -> None:
    faults = [event(10, "kill", begins=True), event(100, "restart", begins=False)]
    happened = VariantOutages(faults=faults, sessions={}, lingering=200, served_by=lambda _: served)
    found = own_clients_of(SPARING, {"B1"}, happened)
    assert found is not None
    assert found.of("B1") == (Intervals(), Intervals.of([(10, until)]))
    assert found.brokers_down == {"B1": Intervals.of([(10, 100)])}


def test_it_never_ends_for_a_broker_that_does_not_come_back() -> None:
    happened = VariantOutages(
        faults=[event(10, "stop", begins=True)], sessions={}, lingering=200, served_by=lambda _: FOREVER
    )
    found = own_clients_of(SPARING, {"B1"}, happened)
    assert found is not None
    assert found.of("B1")[0].unending == 10


@pytest.mark.parametrize(("kind", "heal", "until"), [("corrupt", "clean", 390), ("slow", "full_speed", 300)])
def test_a_damaged_frame_waits_after_the_heal_as_long_as_the_fault_lasted(kind: str, heal: str, until: int) -> None:
    faults = [event(10, kind, begins=True), event(100, heal, begins=False)]
    happened = VariantOutages(faults=faults, sessions={}, lingering=200, served_by=lambda _: FOREVER)
    found = own_clients_of(SPARING, {"B1"}, happened)
    assert found is not None
    assert found.unsettled == Intervals.of([(10, until)])
