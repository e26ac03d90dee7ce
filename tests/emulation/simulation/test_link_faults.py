"""Faults of links in virtual time: cuts, degraded and corrupting links, resets and disturbances."""

from __future__ import annotations

import pytest

from broker_service.config import Disturbance, Limits
from broker_service.messages import Operation
from record.log import Event
from tests.emulation.simulation.faulty import B12, B21, Faulty
from tests.emulation.simulation.test_overlay import MILLISECOND, STOCKS, line, ring
from topology.link_properties import LinkDirection, LinkProperties


@pytest.mark.parametrize("seconds", [1.0, 10.0])
def test_a_one_way_cut_holds_one_way_and_is_noticed_by_who_hears_nothing(seconds: float) -> None:
    trial = Faulty()
    trial.attach("Q", "B3")
    trial.attach("R", "B1")
    trial.ask("Q", Operation.ADVERTISE, "a1", STOCKS)
    trial.ask("R", Operation.SUBSCRIBE, "s1", STOCKS)
    trial.overlay.links.cut(B12)
    trial.publish("P", "there")
    back = trial.publish("Q", "back")
    trial.wait(0.5)
    assert trial.ids("S") == ["back"]
    assert dict(trial.notified["R"])["back"] == back + 2 * MILLISECOND
    trial.wait(seconds - 0.5)
    assert ("B1" in trial.breaks("B2"), "B2" in trial.breaks("B1")) == (seconds > 4, seconds > 4)
    trial.overlay.links.restore(B12)
    trial.wait(10.0)
    assert trial.ids("S") == ["back", "there"]


def test_a_cut_that_comes_back_in_time_goes_unnoticed_however_often() -> None:
    trial = Faulty()
    for number in range(10):
        trial.overlay.links.cut(B12)
        trial.overlay.links.cut(B21)
        trial.publish("P", f"p{number}")
        trial.wait(2.0)
        trial.overlay.links.restore(B12)
        trial.overlay.links.restore(B21)
        trial.wait(0.5)
    assert trial.ids("S") == [f"p{number}" for number in range(10)]
    assert trial.breaks("B1") == trial.breaks("B2") == []


def test_a_neighbour_that_died_behind_a_cut_is_noticed_when_the_link_is_back() -> None:
    trial = Faulty()
    trial.overlay.links.cut(B12)
    trial.overlay.links.cut(B21)
    trial.overlay.brokers.kill("B2")
    trial.overlay.links.restore(B12)
    trial.overlay.links.restore(B21)
    trial.wait(0.1)
    assert trial.breaks("B1") == ["B2"]


def test_a_degraded_link_changes_for_what_comes_and_not_for_what_is_under_way() -> None:
    trial = Faulty()
    trial.overlay.links.change(B12, LinkProperties(delay=0.1))
    slow = trial.publish("P", "slow")
    trial.wait(0.05)
    trial.overlay.links.change(B12, LinkProperties(delay=0.001))
    quick = trial.publish("P", "quick")
    trial.overlay.settle()
    assert trial.delay("slow", slow) == 101
    assert trial.delay("quick", quick) == 51, "TCP keeps the order"
    after = trial.publish("P", "after")
    trial.overlay.settle()
    assert trial.delay("after", after) == 2


def test_a_corrupting_link_is_late_and_loses_nothing() -> None:
    trial = Faulty(ring(delay=0.001))
    trial.overlay.links.corrupt(LinkDirection("B1", "B3"), 0.3)
    published = []
    for number in range(100):
        published.append(trial.publish("P", f"p{number}"))
        trial.wait(0.5)
    trial.wait(10.0)
    delays = [trial.delay(f"p{number}", at) for number, at in enumerate(published)]
    late = [delay for delay in delays if delay is not None and delay > 100]
    assert None not in delays
    assert 15 < len(late) < 45
    trial.overlay.links.corrupt(LinkDirection("B1", "B3"), 0.0)
    at = trial.publish("P", "clean")
    trial.wait(0.5)
    assert trial.delay("clean", at) == 1


# Streams that are reset


@pytest.mark.parametrize("directions", [(B12,), (B21,), (B12, B21)])
def test_a_reset_costs_a_moment_and_no_publication(directions: tuple[LinkDirection, ...]) -> None:
    trial = Faulty()
    for number in range(100):
        trial.publish("P", f"p{number}")
        if number % 10 == 5:
            for direction in directions:
                trial.overlay.brokers.reset(direction)
        trial.wait(0.0007 * (number % 30))
    trial.overlay.settle()
    assert trial.ids("S") == [f"p{number}" for number in range(100)]
    assert len(trial.breaks("B1")) == len(trial.breaks("B2")) > 1


def test_on_links_that_do_not_resume_a_reset_loses_what_the_stream_held() -> None:
    trial = Faulty(line(delay=0.050), limits=Limits(resume=False, window=4))
    for number in range(10):
        trial.publish("P", f"p{number}")
    trial.wait(0.055)
    trial.overlay.brokers.reset(B12)
    trial.publish("P", "later")
    trial.overlay.settle()
    dropped = [record.id for record in trial.traces["B1"].of(Event.DROPPED) if record.text == "stream broke"]
    assert trial.ids("S") == ["p0", "p1", "p2", "p3", "later"]
    assert dropped == [f"p{number}" for number in range(4, 10)]


def test_a_reset_of_a_link_that_is_cut_or_paused_is_undone_with_that() -> None:
    for cut in (True, False):
        trial = Faulty()
        brokers, links = trial.overlay.brokers, trial.overlay.links
        links.cut(B12) if cut else brokers.pause("B2")
        trial.overlay.brokers.reset(B12)
        trial.publish("P", "p1")
        trial.wait(10.0)
        assert trial.ids("S") == []
        links.restore(B12) if cut else brokers.resume("B2")
        trial.wait(10.0)
        assert trial.ids("S") == ["p1"]


# Messages that are disturbed


def test_messages_are_lost_repeated_and_held_back_in_the_disturbed_direction_only() -> None:
    trial = Faulty()
    trial.overlay.brokers.disturb(B21, Disturbance(lose=1.0))
    trial.publish("P", "p1")
    trial.overlay.settle()
    trial.overlay.brokers.disturb(B12, Disturbance(lose=1.0))
    trial.publish("P", "lost")
    trial.overlay.settle()
    trial.overlay.brokers.disturb(B12, Disturbance(hold=1.0, held_for=3.0))
    held = trial.publish("P", "held")
    trial.wait(1.0)
    trial.overlay.brokers.disturb(B12, Disturbance())
    trial.publish("P", "p2")
    trial.wait(1.0)
    assert trial.ids("S") == ["p1", "p2"]
    trial.overlay.settle()
    assert trial.ids("S") == ["p1", "p2", "held"]
    assert trial.delay("held", held) == pytest.approx(3002.0)
    fates = [(record.id, record.text) for record in trial.traces["B2"].of(Event.DISTURBED)]
    assert fates == [("lost", "lost"), ("held", "held back")]


def test_a_disturbance_outlives_the_broker() -> None:
    trial = Faulty()
    trial.overlay.brokers.disturb(LinkDirection("B3", "B2"), Disturbance(lose=1.0))
    trial.overlay.brokers.restart("B2")
    trial.wait(10.0)
    assert trial.traces["B2"].of(Event.DISTURBED) != []
