"""Timers of a router: one for each key, and those that count as work."""

from __future__ import annotations

from broker_service.core.router_timers import RouterTimers
from broker_service.routing.interface import SetTimer, TimerKey
from tests.broker_service.manual_timers import ManualTimers


class Timers:
    def __init__(self) -> None:
        self.ran_out: list[tuple[TimerKey, int]] = []
        """With the number of awaited timers at that moment."""
        self.shell = ManualTimers()
        self.timers = RouterTimers(self.shell.schedule, self._run_out)

    def _run_out(self, key: TimerKey) -> None:
        self.ran_out.append((key, self.timers.awaited))


def test_a_timer_runs_out_once_and_is_no_longer_awaited_then() -> None:
    trial = Timers()
    trial.timers.set(SetTimer("a", 1.0, awaited=True))
    trial.timers.set(SetTimer("b", 1.0))
    assert trial.timers.awaited == 1
    trial.shell.fire("b")
    assert trial.timers.awaited == 1
    trial.shell.fire("a")
    assert trial.ran_out == [("b", 1), ("a", 0)]
    assert not trial.shell.running


def test_a_timer_replaces_the_one_of_its_key() -> None:
    trial = Timers()
    trial.timers.set(SetTimer("a", 1.0, awaited=True))
    former = trial.shell.running["a"]
    trial.timers.set(SetTimer("a", 2.0))
    assert trial.timers.awaited == 0
    assert trial.shell.running["a"] is not former
    assert trial.shell.running["a"].after == 2.0


def test_a_cancelled_timer_does_not_run_out() -> None:
    trial = Timers()
    trial.timers.set(SetTimer("a", 1.0, awaited=True))
    trial.timers.set(SetTimer("b", 1.0, awaited=True))
    trial.timers.cancel("a")
    trial.timers.cancel("never set")
    assert trial.timers.awaited == 1
    trial.timers.cancel_all()
    assert (trial.timers.awaited, trial.shell.running, trial.ran_out) == (0, {}, [])


def test_a_timer_that_is_set_when_it_runs_out_runs_again() -> None:
    trial = Timers()
    trial.timers = RouterTimers(trial.shell.schedule, lambda key: trial.timers.set(SetTimer(key, 1.0, awaited=True)))
    trial.timers.set(SetTimer("a", 1.0, awaited=True))
    trial.shell.fire("a")
    assert trial.timers.awaited == 1
    assert "a" in trial.shell.running
