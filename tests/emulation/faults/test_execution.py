"""From actions to deeds and log records."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import pytest

from broker_service.config import Disturbance
from emulation.faults import Action, perform
from emulation.faults.execution import carry_out, described
from emulation.live_overlay import LiveOverlay
from record.faults import FaultKind, HealKind
from record.log import Event, TraceRecord
from record.service_time import ServiceTime
from topology.link_properties import LinkDirection, LinkProperties

AB, BA, BC = LinkDirection("B1", "B2"), LinkDirection("B2", "B1"), LinkDirection("B2", "B3")
SLOWER = LinkProperties(delay=0.5)
DISTURBANCE = Disturbance(lose=0.1)
SERVICE = ServiceTime(mean=0.01)


class Deeds:
    """Notes every call of brokers and links; each takes a second."""

    def __init__(self, down: Collection[str] = ()) -> None:
        self.down = down
        self.done: list[tuple[Any, ...]] = []
        self.now = 0
        self.records: list[TraceRecord] = []
        self.node, self.variant = "emulator", "base"

    @property
    def brokers(self) -> Deeds:
        return self

    @property
    def links(self) -> Deeds:
        return self

    def clock(self) -> int:
        return self.now

    def runs(self, broker: str) -> bool:
        return broker not in self.down

    @property
    def written(self) -> int:
        return len(self.records)

    def write(self, record: TraceRecord) -> None:
        self.records.append(record)

    def __getattr__(self, name: str) -> Any:
        def deed(*arguments: Any) -> None:
            self.now += 1_000_000_000
            self.done.append((name, *arguments))

        return deed

    def logged(self) -> list[tuple[str, str | None, str | None]]:
        return [(record.event.value, record.text, record.peer) for record in self.records]


def done(*actions: Action) -> Deeds:
    deeds = Deeds()
    assert list(perform(actions, cast(LiveOverlay, deeds), deeds, deeds.clock)) == list(actions)
    return deeds


@pytest.mark.parametrize(
    ("action", "deed"),
    [
        (Action(FaultKind.KILL, "B1"), ("kill", "B1")),
        (Action(FaultKind.STOP, "B1"), ("stop", "B1")),
        (Action(HealKind.RESTART, "B1"), ("restart", "B1")),
        (Action(FaultKind.PAUSE, "B1"), ("pause", "B1")),
        (Action(HealKind.RESUME, "B1"), ("resume", "B1")),
        (Action(FaultKind.THROTTLE, "B1", 0.5), ("throttle", "B1", 0.5)),
        (Action(HealKind.UNTHROTTLE, "B1"), ("throttle", "B1", None)),
        (Action(FaultKind.SLOW, "B1", SERVICE), ("slow", "B1", SERVICE)),
        (Action(HealKind.FULL_SPEED, "B1"), ("slow", "B1", None)),
        (Action(FaultKind.LINK_DOWN, AB), ("cut", AB)),
        (Action(HealKind.LINK_UP, AB), ("restore", AB)),
        (Action(FaultKind.DEGRADE, AB, SLOWER), ("change", AB, SLOWER)),
        (Action(HealKind.RECOVER, AB, SLOWER), ("change", AB, SLOWER)),
        (Action(FaultKind.CORRUPT, AB, 0.1), ("corrupt", AB, 0.1)),
        (Action(HealKind.CLEAN, AB, SLOWER), ("corrupt", AB, 0.0)),
        (Action(FaultKind.RESET, AB), ("reset", AB)),
        (Action(FaultKind.DISTURB, AB, DISTURBANCE), ("disturb", AB, DISTURBANCE)),
        (Action(HealKind.UNDISTURB, AB, SLOWER), ("disturb", AB, Disturbance())),
    ],
)
def test_each_action_is_one_deed_and_one_record(action: Action, deed: tuple[Any, ...]) -> None:
    deeds = done(action)
    assert deeds.done == [deed]
    event = "healed" if action.heals else "fault"
    assert deeds.logged() == [(event, action.kind.value, str(action.target))]
    assert deeds.records[0].duration == 1_000_000_000
    assert deeds.records[0].time == (1_000_000_000 if action.heals else 0), (
        "a fault when it begins, a heal when it is done"
    )


def test_a_reset_heals_by_itself() -> None:
    deeds = done(Action(FaultKind.RESET, AB), Action(HealKind.RECONNECT, AB))
    assert deeds.done == [("reset", AB)]
    assert deeds.logged() == [("fault", "reset", "B1->B2"), ("healed", "reconnect", "B1->B2")]


def test_both_directions_of_a_link_are_one_record() -> None:
    cut = [Action(FaultKind.LINK_DOWN, direction) for direction in (AB, BA, BC)]
    deeds = done(*cut, Action(HealKind.LINK_UP, AB), Action(HealKind.RECOVER, BA, SLOWER))
    assert deeds.logged() == [
        ("fault", "link_down", "B1-B2"), ("fault", "link_down", "B2->B3"),
        ("healed", "link_up", "B1->B2"), ("healed", "recover", "B2->B1"),
    ]  # fmt: skip
    assert deeds.records[0].duration == 2_000_000_000


def test_actions_in_words() -> None:
    cut = [Action(FaultKind.LINK_DOWN, direction) for direction in (AB, BA, BC)]
    assert described([Action(FaultKind.KILL, "B7"), *cut]) == ["kill B7", "link_down B1-B2", "link_down B2->B3"]


def test_what_fails_is_not_written_down() -> None:
    deeds = Deeds()
    with pytest.raises(ValueError, match="throttle of a broker, with None"):
        list(perform([Action(FaultKind.THROTTLE, "B1")], cast(LiveOverlay, deeds), deeds, deeds.clock))
    assert deeds.records == []


def test_records_are_faults_of_the_node_that_injects() -> None:
    record = done(Action(FaultKind.KILL, "B7")).records[0]
    assert (record.event, record.node, record.variant) == (Event.FAULT, "emulator", "base")


def test_a_fault_of_a_broker_that_is_down_does_nothing_and_its_heal_all_the_same() -> None:
    deeds = Deeds(down={"B1"})
    for kind in (FaultKind.KILL, FaultKind.PAUSE, FaultKind.STOP):
        carry_out(Action(kind, "B1"), cast(LiveOverlay, deeds))
    assert deeds.done == []
    carry_out(Action(HealKind.RESTART, "B1"), cast(LiveOverlay, deeds))
    assert deeds.done == [("restart", "B1")]
