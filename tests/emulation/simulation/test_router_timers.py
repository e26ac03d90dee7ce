"""Timers of routers in virtual time: an overlay settles when those that count as work have run out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulation.live_overlay import UnsettledError
from tests.broker_service.scripted import registered
from tests.emulation.simulation.scripted import Scripted


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registered():
        yield


def test_an_awaited_timer_keeps_the_overlay_from_being_settled() -> None:
    trial = Scripted()
    trial.do("await:a:3 tick:b:7")
    assert trial.overlay.busy == ["B1"]
    assert trial.overlay.quiet_watch().quiet_for == 0
    assert trial.overlay.brokers.status()["B1"].awaited_timers == 1
    assert trial.settled_after() == 3.0
    assert trial.overlay.busy == []


def test_a_housekeeping_timer_does_not() -> None:
    trial = Scripted()
    trial.do("tick:a:3")
    assert trial.settled_after() == 0.0


@pytest.mark.parametrize("end", ["cancel:a", "tick:a:5"])
def test_a_timer_that_is_cancelled_or_replaced_is_not_awaited(end: str) -> None:
    trial = Scripted()
    trial.do("await:a:3")
    trial.do(end)
    assert trial.settled_after() == 0.0


def test_timers_of_a_killed_broker_are_not_awaited() -> None:
    trial = Scripted()
    trial.do("await:a:3")
    trial.overlay.brokers.kill("B1")
    assert trial.overlay.events.pending == 0
    trial.overlay.brokers.restart("B1")
    trial.overlay.settle(2.5)


def test_timers_of_a_paused_broker_are_awaited_until_it_goes_on() -> None:
    trial = Scripted()
    trial.do("await:a:3")
    trial.overlay.brokers.pause("B1")
    with pytest.raises(UnsettledError, match="1 timer or held request is left after 10 seconds"):
        trial.overlay.settle(10.0)
    trial.overlay.brokers.resume("B1")
    trial.overlay.settle(10.0)
