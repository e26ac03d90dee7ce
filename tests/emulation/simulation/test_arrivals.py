"""The log of simulated brokers has the time at which each message left its link, apart from the turn it had."""

from __future__ import annotations

from emulation.planning.calibration import GROUPS, Calibration, Latency
from record.log import Event, TraceRecord
from record.service_time import ServiceTime
from tests.emulation.simulation.test_overlay import B12, MILLISECOND, Trial
from topology.link_properties import LinkProperties

LINK = {("B1", "B2"): LinkProperties(delay=0.003)}
LATE = Calibration(link=Latency((2 * MILLISECOND,) * GROUPS))


def at_the_other_end(trial: Trial) -> list[TraceRecord]:
    return [record for record in trial.traces["B2"].of(Event.RECEIVED) if (record.id or "").startswith("p")]


def test_service_begins_after_the_arrival() -> None:
    trial = Trial(LINK, service_time=ServiceTime(mean=0.004))
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.publish("P", "p1")
    trial.publish("P", "p2")
    trial.overlay.settle()
    sent = [record.time for record in trial.traces["B1"].of(Event.SENT) if (record.id or "").startswith("p")]
    times = [
        ((record.arrived or 0) - left, record.time - left)
        for record, left in zip(at_the_other_end(trial), sent, strict=True)
    ]
    assert times == [(3 * MILLISECOND, 7 * MILLISECOND)] * 2, "B1 serves as slowly, so that nothing waits at B2"


def test_what_the_ends_of_a_link_add_is_not_the_links() -> None:
    trial = Trial(LINK, calibration=LATE)
    trial.one_publisher_one_subscriber("B1", "B2")
    begin = trial.publish("P", "p1")
    trial.overlay.settle()
    (record,) = at_the_other_end(trial)
    assert (record.arrived, record.time) == (begin + 3 * MILLISECOND, begin + 5 * MILLISECOND)


def test_a_message_that_has_its_turn_as_it_arrives_has_one_time() -> None:
    trial = Trial(LINK)
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.publish("P", "p1")
    trial.overlay.settle()
    (record,) = at_the_other_end(trial)
    assert record.arrived is None


def test_a_frozen_broker_reads_late_what_has_arrived() -> None:
    trial = Trial(LINK)
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.overlay.brokers.pause("B2")
    begin = trial.publish("P", "p1")
    trial.overlay.pass_time(0.5)
    trial.overlay.brokers.resume("B2")
    trial.overlay.settle()
    (record,) = at_the_other_end(trial)
    assert record.arrived == begin + 3 * MILLISECOND
    assert record.time >= begin + 500 * MILLISECOND


def test_frames_that_were_sent_into_a_cut_arrive_when_it_ends() -> None:
    trial = Trial(LINK)
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.overlay.links.cut(B12)
    begin = trial.publish("P", "p1")
    trial.overlay.pass_time(0.5)
    trial.overlay.links.restore(B12)
    trial.overlay.settle()
    (record,) = at_the_other_end(trial)
    assert (record.arrived or record.time) >= begin + 500 * MILLISECOND
