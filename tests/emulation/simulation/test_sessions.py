"""Streams of simulated clients: their pace, and their end where a client does not read its answers."""

from __future__ import annotations

from broker_service.config import Limits
from broker_service.links.pacing import BURST, FRAME_INTERVAL
from broker_service.messages import Operation
from record.time_units import SECOND
from tests.emulation.simulation.test_overlay import DEAR, Trial, line

INTERVAL = round(FRAME_INTERVAL * SECOND)
RATE = 100_000
"""Nanoseconds between two publications, twenty of which fit into the interval of frames."""


def test_both_ends_of_a_busy_stream_are_paced() -> None:
    trial = Trial(line(delay=0.005))
    trial.one_publisher_one_subscriber("B1", "B1")
    due = {}
    for number in range(200):
        due[f"p{number}"] = trial.publish("P", f"p{number}")
        trial.overlay.pass_time(RATE / SECOND)
    trial.overlay.settle()
    came = dict(trial.notified["S"])
    delays = [came[id] - at for id, at in due.items()]
    assert set(delays[: int(BURST) - 1]) == {0}, "an idle stream has credit"
    assert INTERVAL < max(delays) <= 2 * INTERVAL, "of a request, and of the event behind it"
    assert len({came[id] for id in due}) < 40, "those that wait travel together"


def test_a_client_that_does_not_read_its_answers_opens_another_stream() -> None:
    trial = Trial(line(delay=0.005), limits=Limits(session_queue=3))
    trial.attach("S", "B1")
    trial.overlay.settle()
    for number in range(4):
        trial.sessions["S"].submit("S", Operation.SUBSCRIBE, f"s{number}", DEAR)
    trial.overlay.pass_time(0.01)
    assert not trial.sessions["S"].up
    assert not trial.overlay.brokers.cores["B1"]._actions.clients, "the broker has forgotten its clients"
    trial.overlay.pass_time(0.1)
    assert trial.sessions["S"].connections > 1
