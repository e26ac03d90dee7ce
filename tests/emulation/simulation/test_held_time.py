"""Virtual time passes, stands still and goes to moments as its holder asks."""

from __future__ import annotations

import pytest

from emulation.held.awaited_records import RecordWatch
from emulation.held.hold import Asked
from emulation.held.requests import Done, Refused, SpeedRequest, StepRequest, TimeRequest, UntilRequest
from emulation.simulation.held_time import VirtualTime
from record.errors import BadInputError
from record.log import Event, TraceRecord
from record.time_units import MILLISECOND, SECOND

LIMIT = 100 * SECOND


class Held:
    """Virtual time whose events come every 7 ms, by a clock that passes while it waits."""

    def __init__(self, speed: float) -> None:
        self.real = 0.0
        self.now = 0
        self.flushed = 0
        self.watch = RecordWatch()
        self.time = VirtualTime(
            speed, following=self.following, watch=self.watch, nodes={"B1"}, wait=self.wait, flush=self.flush, most=60,
            clock=lambda: self.real,
        )  # fmt: skip
        self.time.begin(0)

    def following(self) -> int:
        return (self.now // (7 * MILLISECOND) + 1) * 7 * MILLISECOND

    def wait(self, seconds: float) -> None:
        self.real += seconds

    def flush(self) -> None:
        self.flushed += 1

    def ask(self, request: TimeRequest) -> Asked:
        asked = Asked(request)
        self.time.control(asked, request, self.now)
        return asked

    def go_on(self, turns: int = 1) -> None:
        for _ in range(turns):
            self.now = self.time.stop(self.now, LIMIT)
            self.time.passed(self.now)
            self.time.answer(self.now)


def test_time_passes_at_its_speed() -> None:
    held = Held(4.0)
    held.go_on(100)
    assert held.now == pytest.approx(4.0 * held.real * SECOND, rel=0.05)
    asked = held.ask(SpeedRequest(0.5))
    assert asked.answer.result(0) == Done(
        f"{held.now / SECOND:g} s after clients began to join: 0.5 s pass in a second"
    )
    before, real = held.now, held.real
    held.go_on(100)
    assert held.now - before == pytest.approx(0.5 * (held.real - real) * SECOND, rel=0.05)


def test_a_step_is_exact_and_takes_no_real_time() -> None:
    held = Held(1.0)
    asked = held.ask(StepRequest(123_456_789))
    held.go_on()
    assert (held.now, held.real) == (123_456_789, 0.0)
    assert asked.answer.result(0) == Done("0.123456789 s after clients began to join: time stands still")
    held.go_on(3)
    assert held.now == 123_456_789
    assert held.real > 0
    assert held.flushed


def test_time_stands_still_at_a_record() -> None:
    held = Held(0.0)
    asked = held.ask(UntilRequest("B1 sends publish", SECOND))
    held.go_on(3)
    assert held.now == 3 * 7 * MILLISECOND
    held.watch.see(TraceRecord(time=held.now, node="B1", variant="v", event=Event.SENT, kind="publish"))
    held.go_on()
    assert isinstance(asked.answer.result(0), Done)
    held.go_on(5)
    assert held.now == 4 * 7 * MILLISECOND


def test_a_record_that_does_not_come_is_said_to() -> None:
    held = Held(0.0)
    asked = held.ask(UntilRequest("B1 sends publish", 100 * MILLISECOND))
    held.go_on(100)
    assert held.now == 100 * MILLISECOND
    answer = asked.answer.result(0)
    assert isinstance(answer, Refused)
    assert "no 'B1 sends publish' has come: 0.1 s" in answer.reason


def test_whoever_waits_is_answered_when_others_ask_or_the_run_ends() -> None:
    held = Held(0.0)
    first, second = held.ask(StepRequest(SECOND)), held.ask(StepRequest(2 * SECOND))
    assert "another moment was asked for" in str(first.answer.result(0))
    held.time.end(held.now)
    assert "the run ends" in str(second.answer.result(0))


def test_what_cannot_be_is_refused() -> None:
    held = Held(0.0)
    for request in (SpeedRequest(-1), SpeedRequest(float("nan")), StepRequest(0), UntilRequest("B2 sent", 1)):
        assert isinstance(held.ask(request).answer.result(0), Refused)
    with pytest.raises(BadInputError, match="choose 0, at which time stands still"):
        Held(1e-9)


def test_a_run_whose_time_stands_still_ends_by_the_real_clock() -> None:
    held = Held(0.0)
    assert not held.time.over()
    held.real = 61
    assert "has passed in real time" in held.time.over()
