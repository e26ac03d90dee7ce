"""Sessions come back, and subscriptions hold again, within a time that follows from the heal."""

from __future__ import annotations

from analysis.judging.histories.history import MissingSession
from analysis.judging.histories.losses import LossyOutage
from analysis.judging.histories.returning import Returning
from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.outages import Outage

KILLED = Outage(100, "kill", "B1", 200)
LOSS = LossyOutage(100, "kill", "B1", 200, 900)


def returning(**struck: tuple[int, int]) -> Returning:
    times = {element: Intervals.of([span]) for element, span in struck.items()}
    return Returning(within=30, settled=20, struck={"B1": Intervals.of([(100, 900)])} | times)


def down(end: int) -> dict[tuple[str, str | None], list[Outage]]:
    return {("driver", "B1"): [Outage(101, "", "B1", end)]}


def test_a_session_that_is_back_in_time_stays_as_it_is() -> None:
    assert returning().bounded(down(225), [KILLED], 1000) == (down(225), [])


def test_one_that_is_not_counts_as_back_when_it_was_due() -> None:
    bounded, missing = returning().bounded(down(FOREVER), [KILLED], 1000)
    assert bounded == down(230)
    assert missing == [MissingSession("driver", "B1", 101, 230)]


def test_nothing_is_due_after_the_run() -> None:
    assert returning().bounded(down(FOREVER), [KILLED], 220) == (down(FOREVER), [])


def test_nothing_is_due_while_the_broker_is_down() -> None:
    killed = Outage(100, "kill", "B1", FOREVER)
    assert returning().bounded(down(FOREVER), [killed], 1000) == (down(FOREVER), [])


def test_another_fault_of_the_broker_puts_it_off() -> None:
    frozen = Outage(210, "pause", "B1", 300)
    bounded, _ = returning().bounded(down(FOREVER), [KILLED, frozen], 1000)
    assert bounded == down(330)


def test_subscriptions_hold_again_when_sessions_are_back_and_they_have_settled() -> None:
    assert returning().served(LOSS, down(205)).served == 250
    assert returning().served(LOSS, down(400)).served == 420


def test_a_fault_elsewhere_puts_that_off() -> None:
    assert returning(B2=(240, 500)).served(LOSS, down(205)).served == 500
    assert returning(B2=(260, 500)).served(LOSS, down(205)).served == 250


def test_an_outage_concerns_its_own_clients_no_longer() -> None:
    loss = returning().served(LOSS, down(205))
    assert loss.towards("B1").recovered == 250
    assert loss.towards("B2").recovered == 900
