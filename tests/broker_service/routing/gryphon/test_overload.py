"""Streams over several paths while brokers have more to do than they can: what is late is not made later."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

from broker_service.messages import Kind
from broker_service.routing.gryphon.overlay import RoutingTree
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import LOGS, log_files
from record.log import Event, TraceRecord
from scenario.loading import load
from tests.broker_service.routing.gryphon.router_overlay import RouterOverlay

TREE = RoutingTree((("a",), ("b1", "b2"), ("c",)), ((0, 1), (1, 2)))


def publications_held_back(overlay: RouterOverlay) -> int:
    """Publications that the broker of the subscriber holds back."""
    streams = overlay.brokers["c"].router._forwarding.streams
    return sum(state.horizon.publications for state in streams.values())


def calls_of_an_arrival(held_back: int) -> int:
    """Function calls that the arrival of a publication takes, while others are held back because b1 is late."""
    overlay = RouterOverlay(TREE, paths="message")
    overlay.subscribe("S", "c")
    overlay.settle()
    overlay.publish("a")
    overlay.settle()
    overlay.held = {("b1", "c")}
    for _ in range(2 * held_back):
        overlay.publish("a")
        overlay.quiet()
    assert publications_held_back(overlay) == held_back
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    overlay.publish("a")
    overlay.publish("a")
    sys.setprofile(count)
    try:
        overlay.quiet()
    finally:
        sys.setprofile(None)
    assert publications_held_back(overlay) == held_back + 1
    return calls


def test_an_arrival_takes_as_much_work_however_many_publications_are_held_back() -> None:
    assert calls_of_an_arrival(300) < 1.1 * calls_of_an_arrival(10)


def test_two_that_lack_the_same_have_it_asked_for_once_further_up() -> None:
    overlay = RouterOverlay(RoutingTree((("a",), ("b",), ("c",), ("d",)), ((0, 1), (1, 2), (1, 3))))
    overlay.subscribe("S", "c")
    overlay.subscribe("T", "d")
    overlay.settle()
    overlay.publish("a")
    overlay.settle()
    overlay.losing = {("a", "b")}
    overlay.publish("a")
    overlay.quiet()
    overlay.publish("a")
    overlay.quiet()
    overlay.held = {("a", "b")}
    overlay.pass_time(0.05)
    nacks = [(sender, receiver) for sender, receiver, _, label in overlay.sent if label == "nack"]
    assert sorted(nacks) == [("b", "a"), ("c", "b"), ("d", "b")]
    overlay.held = set()
    overlay.settle()
    assert overlay.notified == {"S": ["e1", "e2", "e3"], "T": ["e1", "e2", "e3"]}


def test_a_publication_that_arrives_late_is_no_answer_as_well() -> None:
    overlay = RouterOverlay(TREE, paths="message")
    overlay.subscribe("S", "c")
    overlay.settle()
    overlay.publish("a")
    overlay.settle()
    overlay.held = {("a", "b1")}
    for _ in range(2):
        overlay.publish("a")
    overlay.pass_time(0.05)
    overlay.sent.clear()
    overlay.held = set()
    overlay.settle()
    copies = [(sender, label) for sender, receiver, message, label in overlay.sent if message.kind is Kind.PUBLISH]
    assert copies == [("b1", "")]
    assert overlay.notified["S"] == ["e1", "e2", "e3"]


UNEQUAL_PATHS = """
name: unequal-paths
topology:
  kind: explicit
  links: [[a, b1], [a, b2], [b1, b2], [b1, c], {between: [b2, c], delay: DELAY}]
  link: {delay: 1ms}
routing: {protocol: gryphon, paths: message}
workload:
  kind: topics
  publications: {topics: 1, rate: 1000/s, placement: [a]}
  subscriptions: [{subscribers: 1, topics: 1, placement: [c]}]
timeline: {join: 2s, run: 4s, drain: 2s}
seed: 1
"""


def run_of(text: str, directory: Path) -> list[TraceRecord]:
    """The log of a scenario's run, in the order of time."""
    file = directory / "scenario.yaml"
    file.write_text(text)
    made = simulate(make_plan(load(file)), directory, calibration=Calibration.free()).directory
    decoder = msgspec.json.Decoder(TraceRecord)
    found = [decoder.decode(line) for log in log_files(made / LOGS) for line in log.read_bytes().splitlines()]
    return sorted(found, key=lambda record: record.time)


@pytest.mark.proof
@pytest.mark.parametrize("delay", ["60ms", "120ms"])
def test_publications_on_a_slow_path_are_waited_for(delay: str, tmp_path: Path) -> None:
    records = run_of(UNEQUAL_PATHS.replace("DELAY", delay), tmp_path)
    labels = Counter(record.label for record in records if record.event is Event.SENT)
    published = [record.id for record in records if record.event is Event.PUBLISH]
    assert [record.id for record in records if record.event is Event.NOTIFIED] == published
    assert len(published) > 3000
    assert labels["retransmission"] < 0.05 * len(published)


SLOW_LINKS = """
name: slow
topology: {kind: paper, name: gryphon-failure, link: {delay: 300ms}}
routing: {protocol: gryphon, paths: message}
brokers: {limits: {resume: false, window: 1}}
workload:
  kind: topics
  publications: {topics: 4, rate: 6/min, placement: [pb]}
  subscriptions:
    - {subscribers: 4, topics: 1..2, placement: [sb1]}
    - {subscribers: 4, topics: 3..4, placement: [sb2]}
timeline: {join: 20s, run: 60s, drain: 10s}
faults: [{at: run+8s, link_down: pb-ib1, for: 7s}]
seed: 1
"""
"""A link carries a message in 0.6 s, and an end that is not acknowledged is announced every 0.25 s."""


@pytest.mark.proof
def test_announcements_do_not_wait_behind_each_other_on_a_link_that_is_slower_than_they_are(tmp_path: Path) -> None:
    records = run_of(SLOW_LINKS, tmp_path)
    queues = [record.queue or 0 for record in records if record.event is Event.SENT and record.node == "pb"]
    assert len(queues) > 100
    assert max(queues) < 60
    published = {record.id for record in records if record.event is Event.PUBLISH}
    assert {record.id for record in records if record.event is Event.NOTIFIED} == published
