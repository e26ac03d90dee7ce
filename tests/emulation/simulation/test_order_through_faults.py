"""Messages keep their order, and none is lost, where a fault is over before what was sent ahead of it has arrived."""

from __future__ import annotations

import pytest

from broker_service.messages import Operation
from record.log import Event
from tests.emulation.simulation.faulty import B12, Faulty
from tests.emulation.simulation.test_overlay import STOCKS, Trial, cut, line, restore


def test_what_was_sent_during_a_cut_does_not_overtake_what_was_sent_before_it() -> None:
    trial = Faulty(line(delay=0.1))
    trial.publish("P", "before")
    trial.wait(0.01)
    cut(trial)
    trial.publish("P", "during")
    trial.wait(0.01)
    restore(trial)
    trial.publish("P", "after")
    trial.overlay.settle()
    assert trial.ids("S") == ["before", "during", "after"]


def test_acknowledgements_do_not_go_back_after_a_cut() -> None:
    """The neighbour's session refuses one that is less than another before it."""
    trial = Faulty(line(delay=0.1))
    trial.attach("Q", "B2")
    trial.attach("R", "B1")
    trial.ask("Q", Operation.ADVERTISE, "a1", STOCKS)
    trial.ask("R", Operation.SUBSCRIBE, "s1", STOCKS)
    trial.publish("Q", "back")
    trial.wait(0.095)
    trial.publish("P", "before it came")
    trial.wait(0.01)
    cut(trial)
    trial.publish("P", "after it came")
    trial.wait(0.01)
    restore(trial)
    trial.overlay.settle()
    assert trial.ids("S") == ["back", "before it came", "after it came"]


def with_an_answer_in_flight() -> Faulty:
    """The link between B1 and B2 was reset; B2 has accepted the new stream, and B1 does not know it yet."""
    trial = Faulty(line(delay=0.1))
    trial.attach("Q", "B2")
    trial.attach("R", "B1")
    trial.ask("Q", Operation.ADVERTISE, "a1", STOCKS)
    trial.ask("R", Operation.SUBSCRIBE, "s1", STOCKS)
    ups = len(links_up(trial))
    trial.overlay.brokers.reset(B12)
    while len(links_up(trial)) == ups:
        trial.wait(0.01)
    return trial


def links_up(trial: Trial) -> list[str | None]:
    return [record.peer for record in trial.traces["B2"].of(Event.LINK_UP) if record.peer == "B1"]


@pytest.mark.parametrize("fault", ["cut", "pause"])
def test_the_first_messages_of_a_stream_do_not_overtake_the_answer_that_opens_it(fault: str) -> None:
    trial = with_an_answer_in_flight()
    if fault == "cut":
        cut(trial)
    else:
        trial.overlay.brokers.pause("B1")
    trial.publish("Q", "first")
    trial.wait(0.05 if fault == "cut" else 0.5)
    if fault == "cut":
        restore(trial)
    else:
        trial.overlay.brokers.resume("B1")
    trial.publish("Q", "second")
    trial.overlay.settle()
    assert trial.ids("R") == ["first", "second"]
