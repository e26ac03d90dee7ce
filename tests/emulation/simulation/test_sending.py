"""Links on which sending takes time, in the simulator."""

from __future__ import annotations

from pathlib import Path

from broker_service.messages import Operation
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.log import Event
from record.service_time import ServiceTime
from scenario.loading import load
from tests.emulation.simulation.test_overlay import B12, DEAR, MILLISECOND, STOCKS, Trial
from topology.link_properties import LinkProperties

CALLS = LinkProperties(delay=0.001, send_time=ServiceTime(mean=0.005))


def test_messages_of_one_link_leave_one_after_the_other() -> None:
    trial = Trial({("B1", "B2"): CALLS})
    trial.one_publisher_one_subscriber("B1", "B2")
    begin = max(trial.publish("P", f"p{number}") for number in range(5))
    trial.overlay.settle()
    assert [(id, time - begin) for id, time in trial.notified["S"]] == [
        (f"p{number}", (5 * number + 6) * MILLISECOND) for number in range(5)
    ]
    waits = [record.duration for record in trial.traces["B1"].of(Event.SENT) if (record.id or "").startswith("p")]
    assert waits == [5 * number * MILLISECOND for number in range(5)], "the wait is that in the queue alone"


def test_the_log_tells_when_a_message_began_to_be_sent_when_it_was_written_and_when_it_arrived() -> None:
    trial = Trial({("B1", "B2"): CALLS})
    trial.one_publisher_one_subscriber("B1", "B2")
    begin = max(trial.publish("P", f"p{number}") for number in range(3))
    trial.overlay.settle()
    sent = [record for record in trial.traces["B1"].of(Event.SENT) if (record.id or "").startswith("p")]
    received = [record for record in trial.traces["B2"].of(Event.RECEIVED) if (record.id or "").startswith("p")]
    times = [(a.time, a.written or 0, b.arrived or b.time) for a, b in zip(sent, received, strict=True)]
    assert [[(time - begin) / MILLISECOND for time in of_one] for of_one in times] == [
        [0, 5, 6],
        [5, 10, 11],
        [10, 15, 16],
    ]


def test_a_message_whose_stream_broke_while_it_was_sent_has_left_the_queue_and_was_not_written() -> None:
    trial = Trial({("B1", "B2"): CALLS})
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.publish("P", "p1")
    trial.overlay.pass_time(0.003)
    trial.overlay.brokers.reset(B12)
    trial.overlay.settle()
    (sent,) = [record for record in trial.traces["B1"].of(Event.SENT) if record.id == "p1"]
    assert sent.written is None
    assert trial.ids("S") == ["p1"]


def test_links_of_one_broker_send_side_by_side() -> None:
    trial = Trial({("B1", "B2"): CALLS, ("B1", "B3"): CALLS})
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.attach("T", "B3")
    trial.ask("T", Operation.SUBSCRIBE, "s1", DEAR)
    begin = trial.publish("P", "p1")
    trial.overlay.settle()
    assert {trial.notified[client][0][1] - begin for client in "ST"} == {6 * MILLISECOND}


def test_control_messages_take_their_time_as_well() -> None:
    trial = Trial({("B1", "B2"): CALLS})
    trial.attach("P", "B1")
    begin = trial.overlay.events.now
    trial.ask("P", Operation.ADVERTISE, "a1", STOCKS)
    (received,) = (record for record in trial.traces["B2"].of(Event.RECEIVED) if record.peer == "B1")
    assert received.time - begin == 6 * MILLISECOND


def test_what_was_being_sent_when_the_stream_broke_travels_again() -> None:
    trial = Trial({("B1", "B2"): CALLS})
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.publish("P", "p1")
    trial.publish("P", "p2")
    trial.overlay.pass_time(0.003)
    trial.overlay.brokers.reset(B12)
    trial.overlay.settle()
    assert trial.ids("S") == ["p1", "p2"]


def test_a_send_time_begins_and_ends_while_the_link_is_open() -> None:
    trial = Trial({("B1", "B2"): LinkProperties(delay=0.001)})
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.overlay.links.change(B12, CALLS)
    begin = max(trial.publish("P", f"slow{number}") for number in range(2))
    trial.overlay.settle()
    trial.overlay.links.change(B12, LinkProperties(delay=0.001))
    later = max(trial.publish("P", f"quick{number}") for number in range(2))
    trial.overlay.settle()
    delays = [time - (later if id.startswith("quick") else begin) for id, time in trial.notified["S"]]
    assert delays == [6 * MILLISECOND, 11 * MILLISECOND, MILLISECOND, MILLISECOND]


def test_a_broker_that_is_restarted_has_the_present_send_time() -> None:
    trial = Trial({("B1", "B2"): LinkProperties(delay=0.001)})
    trial.overlay.links.change(B12, CALLS)
    trial.overlay.brokers.kill("B1")
    trial.overlay.brokers.restart("B1")
    trial.overlay.settle()
    trial.one_publisher_one_subscriber("B1", "B2")
    begin = trial.publish("P", "slow")
    trial.overlay.settle()
    assert trial.notified["S"] == [("slow", begin + 6 * MILLISECOND)]


def test_a_broker_that_is_paused_has_the_send_time_once_it_continues() -> None:
    trial = Trial({("B1", "B2"): LinkProperties(delay=0.001)})
    trial.one_publisher_one_subscriber("B1", "B2")
    trial.overlay.brokers.pause("B1")
    trial.overlay.links.change(B12, CALLS)
    assert trial.overlay.brokers.cores["B1"].links["B2"].sending is None
    trial.overlay.brokers.resume("B1")
    trial.overlay.settle()
    begin = trial.publish("P", "slow")
    trial.overlay.settle()
    assert trial.notified["S"] == [("slow", begin + 6 * MILLISECOND)]


SCENARIO = """
name: calls
topology: {kind: ring, brokers: 4, link: {delay: 1ms, send_time: {mean: 4ms, distribution: exponential}}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {publishers: 2, rate: 20/s}
  subscriptions: {subscribers: 4, selectivity: 20%}
timeline: {join: 2s, run: 3s, drain: 2s}
"""


def logs(text: str, directory: Path) -> dict[str, bytes]:
    directory.mkdir()
    file = directory / "calls.yaml"
    file.write_text(text)
    made = simulate(make_plan(load(file)), directory).directory
    return {log.name: log.read_bytes() for log in sorted((made / "logs").iterdir())}


def test_draws_follow_from_the_seed(tmp_path: Path) -> None:
    first, again = (logs(SCENARIO, tmp_path / name) for name in ("first", "again"))
    assert first == again
    assert logs(SCENARIO + "seed: 2\n", tmp_path / "other") != first


def test_no_time_is_the_same_as_none_at_all(tmp_path: Path) -> None:
    sending = ", send_time: {mean: 4ms, distribution: exponential}"
    none, zero = (SCENARIO.replace(sending, instead) for instead in ("", ", send_time: 0s"))
    assert logs(none, tmp_path / "none") == logs(zero, tmp_path / "zero")
