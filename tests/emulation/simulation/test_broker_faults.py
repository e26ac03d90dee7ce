"""Faults of brokers in virtual time: pauses, slowness, kills and stops, and the effect on messages and clients."""

from __future__ import annotations

from functools import partial

import pytest

from broker_service.config import Limits
from broker_service.messages import Operation
from broker_service.routing.interface import SetTimer
from emulation.simulation.brokers import SimulatedTimer
from record.errors import HostError
from record.log import Event
from record.service_time import ServiceTime
from tests.emulation.simulation.faulty import B12, B21, B23, SECOND, Faulty
from tests.emulation.simulation.test_overlay import STOCKS, line, ring
from topology.link_properties import LinkProperties


@pytest.mark.parametrize("seconds", [1.0, 10.0])
def test_a_paused_broker_delivers_what_came_once_it_goes_on(seconds: float) -> None:
    """Neighbours do not notice less than three heartbeats, and give it up after more. Nothing is lost or doubled."""
    trial = Faulty()
    trial.overlay.brokers.pause("B2")
    for number in range(100):
        trial.publish("P", f"p{number}")
        trial.wait(seconds / 100)
    assert trial.ids("S") == []
    trial.overlay.brokers.resume("B2")
    trial.wait(10.0)
    assert trial.ids("S") == [f"p{number}" for number in range(100)]
    assert trial.breaks("B1") == (["B2"] if seconds > 4 else [])
    assert bool(trial.breaks("B2")) == (seconds > 4)
    trial.overlay.settle()


def test_a_paused_broker_does_nothing() -> None:
    trial = Faulty(service_time=ServiceTime(mean=0.002))
    for number in range(50):
        trial.publish("P", f"p{number}")
    trial.wait(0.02)
    before = len(trial.traces["B2"].records)
    trial.overlay.brokers.pause("B2")
    trial.wait(30.0)
    assert len(trial.traces["B2"].records) == before, "no message, no timer, no gauge"
    trial.overlay.brokers.resume("B2")
    trial.wait(10.0)
    assert trial.ids("S") == [f"p{number}" for number in range(50)]


def test_timers_of_a_paused_broker_wait() -> None:
    trial = Faulty()
    fired: list[int] = []
    frozen = trial.overlay._running["B2"]
    SimulatedTimer(frozen, SetTimer("test", 1.0), lambda: fired.append(trial.overlay.events.now))
    begin = trial.overlay.events.now
    trial.overlay.brokers.pause("B2")
    trial.wait(10.0)
    trial.overlay.brokers.resume("B2")
    trial.wait(10.0)
    assert fired == [begin + 10 * SECOND]


def test_a_pause_postpones_the_work_under_way_by_its_length() -> None:
    trial = Faulty(service_time=ServiceTime(mean=0.1))
    published = trial.publish("P", "p1")
    trial.wait(0.151)  # B1 is done, B2 has worked on it for 50 ms
    trial.overlay.brokers.pause("B2")
    trial.wait(0.5)
    trial.overlay.brokers.resume("B2")
    trial.overlay.settle()
    assert trial.delay("p1", published) == 3 * 100 + 2 * 1 + 500


def test_a_client_of_a_paused_broker_is_answered_afterwards() -> None:
    trial = Faulty()
    trial.overlay.brokers.pause("B1")
    trial.publish("P", "p1")
    trial.wait(60.0)
    trial.overlay.brokers.resume("B1")
    trial.wait(10.0)
    assert trial.ids("S") == ["p1"]
    assert trial.sessions["P"].connections == 1, "it never noticed"


def test_sessions_open_and_end_once_a_paused_broker_goes_on() -> None:
    trial = Faulty()
    ending = trial.sessions["S"]._session
    assert ending is not None
    trial.overlay.brokers.pause("B3")
    trial.attach("T", "B3")
    trial.sessions["S"].close()
    trial.wait(2.0)
    assert (trial.sessions["T"].connections, ending.ended) == (0, False)
    trial.overlay.brokers.resume("B3")
    trial.overlay.settle()
    assert (trial.sessions["T"].connections, ending.ended) == (1, True)


def test_a_broker_that_is_killed_while_paused_comes_back_afresh() -> None:
    trial = Faulty()
    trial.overlay.brokers.pause("B2")
    trial.wait(1.0)
    trial.overlay.brokers.kill("B2")
    trial.overlay.brokers.resume("B2")
    trial.overlay.brokers.restart("B2")
    trial.wait(10.0)
    trial.publish("P", "p1")
    trial.wait(1.0)
    assert trial.ids("S") == ["p1"]


def test_dynamic_routing_goes_round_a_paused_broker() -> None:
    square = {("B1", "B2"): 0.001, ("B2", "B3"): 0.001, ("B1", "B4"): 0.002, ("B4", "B3"): 0.002}
    trial = Faulty(
        {ends: LinkProperties(delay=delay) for ends, delay in square.items()}, options={"publications": "dynamic"}
    )
    trial.overlay.links.cut(B12)
    trial.overlay.links.cut(B21)
    trial.wait(10.0)
    trial.attach("Q", "B1")
    trial.ask("Q", Operation.ADVERTISE, "a1", STOCKS)  # its tree goes over B4, and offers that way
    trial.overlay.links.restore(B12)
    trial.overlay.links.restore(B21)
    trial.wait(10.0)
    trial.overlay.brokers.pause("B2")
    trial.wait(5.0)
    trial.publish("P", "round it")
    trial.wait(1.0)
    assert trial.ids("S") == ["round it"]


def test_a_slowed_broker_takes_its_time_and_nothing_overtakes() -> None:
    trial = Faulty()
    trial.overlay.brokers.slow("B2", ServiceTime(mean=0.05))
    published = [trial.publish("P", f"p{number}") for number in range(4)]
    trial.wait(0.06)
    trial.overlay.brokers.slow("B2", None)
    trial.publish("P", "at full speed")
    trial.overlay.settle()
    assert trial.ids("S") == ["p0", "p1", "p2", "p3", "at full speed"]
    assert [trial.delay(f"p{number}", published[number]) for number in range(4)] == [52, 102, 152, 202]
    assert trial.delay("p0", trial.publish("P", "later")) is not None
    later = trial.publish("P", "last")
    trial.overlay.settle()
    assert trial.delay("last", later) == 2


def test_a_broker_with_a_service_time_gets_its_own_back() -> None:
    trial = Faulty(service_time=ServiceTime(mean=0.01))
    trial.overlay.brokers.slow("B2", ServiceTime(mean=0.1))
    slow = trial.publish("P", "slow")
    trial.overlay.settle()
    trial.overlay.brokers.slow("B2", None)
    normal = trial.publish("P", "normal")
    trial.overlay.settle()
    assert (trial.delay("slow", slow), trial.delay("normal", normal)) == (122, 32)


def test_a_slowed_broker_that_dies_forgets_what_waited() -> None:
    trial = Faulty()
    trial.overlay.brokers.slow("B1", ServiceTime(mean=1.0))
    trial.publish("P", "p1")
    trial.wait(0.1)
    trial.overlay.brokers.slow("B1", ServiceTime(mean=2.0))
    trial.publish("P", "p2")
    trial.wait(0.1)
    trial.overlay.brokers.kill("B1")
    died = len(trial.traces["B1"].records)
    trial.wait(20.0)
    assert len(trial.traces["B1"].records) == died, "the dead write nothing"
    trial.overlay.brokers.slow("B1", None)
    trial.overlay.brokers.restart("B1")
    trial.wait(10.0)
    published = trial.publish("P", "p3")
    trial.wait(1.0)
    assert trial.delay("p3", published) == 2
    assert trial.ids("S") == ["p3"]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_stopped_broker_passes_on_what_waits_a_killed_one_does_not(end: str) -> None:
    trial = Faulty(line(delay=0.02), service_time=ServiceTime(mean=0.001))
    for number in range(20):
        trial.publish("P", f"p{number}")
    trial.wait(0.032)  # half of them are on their way from B2 to B3
    getattr(trial.overlay.brokers, end)("B2")
    trial.wait(5.0)
    assert len(trial.ids("S")) == 20 if end == "stop" else 0 < len(trial.ids("S")) < 20
    stopped = [record for record in trial.traces["B2"].records if record.event is Event.STOPPED]
    assert len(stopped) == (end == "stop")
    trial.overlay.brokers.restart("B2")
    trial.wait(10.0)
    trial.publish("P", "afterwards")
    trial.wait(1.0)
    assert trial.ids("S")[-1] == "afterwards"


@pytest.mark.parametrize(("within", "passed_on"), [(2.0, 20), (0.3, 3)])
def test_a_stopping_broker_passes_on_what_its_limit_allows(within: float, passed_on: int) -> None:
    """B2 works for 100 ms on each publication."""
    trial = Faulty(limits=Limits(stop_within=within), service_time=ServiceTime(mean=0.1))
    trial.overlay.brokers.slow("B1", ServiceTime())
    trial.overlay.brokers.slow("B3", ServiceTime())
    for number in range(20):
        trial.publish("P", f"p{number}")
    trial.wait(0.05)
    trial.overlay.brokers.stop("B2")
    trial.wait(5.0)
    assert len(trial.ids("S")) == passed_on


def test_a_stopping_broker_takes_nothing_new() -> None:
    trial = Faulty(service_time=ServiceTime(mean=0.1))
    for number in range(5):
        trial.publish("P", f"p{number}")
    trial.wait(0.05)
    trial.overlay.brokers.stop("B1")
    trial.wait(0.05)
    trial.publish("P", "too late")
    trial.wait(10.0)
    assert trial.ids("S") == [f"p{number}" for number in range(5)]


def test_a_stopping_broker_may_be_killed_and_restarted() -> None:
    trial = Faulty(service_time=ServiceTime(mean=0.1))
    for number in range(20):
        trial.publish("P", f"p{number}")
    trial.wait(0.5)
    trial.overlay.brokers.stop("B2")
    trial.wait(0.1)
    trial.overlay.brokers.restart("B2")
    trial.wait(20.0)
    starts = [record.count for record in trial.traces["B2"].records if record.event is Event.STARTED]
    assert starts == [1, 2]
    published = trial.publish("P", "afterwards")
    trial.wait(5.0)
    assert trial.delay("afterwards", published) == 302


def test_what_virtual_time_cannot_do() -> None:
    trial = Faulty()
    with pytest.raises(HostError, match="virtual time has no CPU"):
        trial.overlay.brokers.throttle("B1", 0.5)


def test_the_same_seed_gives_the_same_log_under_faults() -> None:
    logs = []
    for _ in range(2):
        trial = Faulty(ring(delay=0.003, jitter=0.001, loss=0.02), seed=7, limits=Limits(heartbeat=0.5))
        brokers, links = trial.overlay.brokers, trial.overlay.links
        faults = (partial(brokers.pause, "B2"), partial(links.cut, B23), partial(brokers.resume, "B2"))
        for step, fault in enumerate(faults):
            fault()
            for number in range(20):
                trial.publish("P", f"p{step}.{number}")
            trial.wait(3.0)
        logs.append([record for trace in trial.traces.values() for record in trace.records])
    assert logs[0] == logs[1]


@pytest.mark.parametrize(("down", "attempt"), [(0.0, 0.05), (0.1, 0.15), (1.5, 1.55), (1.6, 2.55), (60.0, 60.55)])
def test_clients_come_back_with_the_back_off_of_real_ones(down: float, attempt: float) -> None:
    """Attempts follow a break after 0.05, 0.15, 0.35, 0.75 and 1.55 s, and then every second."""
    trial = Faulty()
    came: list[int] = []
    session = trial.sessions["P"]
    session.on_up = lambda: came.append(trial.overlay.events.now)
    killed = trial.overlay.events.now
    trial.overlay.brokers.kill("B1")
    trial.wait(down)
    trial.overlay.brokers.restart("B1")
    trial.wait(2.0)
    assert came == [killed + round(attempt * SECOND)]


def test_the_limits_of_brokers_are_those_of_their_clients_sessions() -> None:
    trial = Faulty(limits=Limits(reconnect_first=0.2, reconnect_last=0.3))
    came: list[int] = []
    trial.sessions["P"].on_up = lambda: came.append(trial.overlay.events.now)
    killed = trial.overlay.events.now
    trial.overlay.brokers.kill("B1")
    trial.wait(0.6)
    trial.overlay.brokers.restart("B1")
    trial.wait(1.0)
    assert came == [killed + round(0.8 * SECOND)]
