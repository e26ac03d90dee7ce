"""Judged runs: the same as the run of the file, and blamed for what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from analysis.tables.summary import BROKER_DEFECT, STATE_LEFT
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import LOGS
from record.log import Event
from scenario.loading import load_text
from scenario.yaml_files.source import as_yaml
from studies.exploration.drawing import DRAIN, Drawing
from studies.exploration.judged_run import JudgingRoom, Kind, judging_room
from studies.exploration.records import logged
from studies.exploration.surroundings import Shape, Surroundings
from tests.studies.exploration.faulty import protocol_with


@pytest.fixture
def room() -> Iterator[JudgingRoom]:
    with judging_room() as found:
        yield found


@pytest.mark.parametrize("shape, protocol", [(Shape.CYCLIC, "tid"), (Shape.REDUNDANT_TREE, "gryphon")])
def test_a_run_repeats_from_its_file(shape: Shape, protocol: str, room: JudgingRoom, tmp_path: Path) -> None:
    drawing = Drawing(Surroundings(shape, protocol))
    for number in range(3):
        scenario = drawing.drawn(Random(number))
        explored = room.judged(scenario)
        read = load_text(as_yaml(scenario.resolved()), "its file")
        outcome = simulate(make_plan(read), tmp_path)
        assert explored.records == tuple(logged(outcome.directory / LOGS))


@pytest.mark.parametrize(
    "defect, blamed",
    [
        ("none", set()),
        ("keeps subscriptions", {STATE_LEFT}),
        ("notifies twice", {"duplicated"}),
        ("fails", {BROKER_DEFECT}),
    ],
)
def test_a_verdict_blames_what_is_wrong(defect: str, blamed: set[str], room: JudgingRoom, tmp_path: Path) -> None:
    surroundings = Surroundings(Shape.TREE, str(protocol_with(defect, tmp_path)))
    runs = [room.judged(Drawing(surroundings).drawn(Random(number))) for number in range(8)]
    assert {kind for run in runs for kind in run.kinds} >= blamed
    assert blamed or not any(run.defects for run in runs)


_SMALL_QUEUE = """
name: small-queue
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
brokers: {limits: {session_queue: 20}}
timeline: {join: 3s, run: 5s}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'A']"}
    - {at: 1s, client: S, broker: B1, id: s, subscribe: "[class,eq,'A']"}
"""


def test_a_loss_for_which_a_queue_had_no_room_is_no_finding(room: JudgingRoom) -> None:
    at_once = "    - {at: 5s, client: P, broker: B1, publish: \"[class,'A']\"}\n" * 30
    judged = room.judged(load_text(_SMALL_QUEUE + at_once, "small queue"))
    assert judged.defects == () and not judged.refused
    assert sum(record.event == Event.NOTIFIED for record in judged.records) == 20


def test_a_message_that_goes_in_circles_is_blamed(room: JudgingRoom, tmp_path: Path) -> None:
    surroundings = Surroundings(Shape.FULL, str(protocol_with("forgets what it has seen", tmp_path)))
    runs = [room.judged(Drawing(surroundings).drawn(Random(number))) for number in range(3)]
    assert {kind for run in runs for kind in run.kinds} & {BROKER_DEFECT, Kind.NO_END}


TRIANGLE = """
name: triangle
topology: {kind: explicit, links: [{between: [B1, B2]}, {between: [B2, B3]}, {between: [B1, B3]}]}
routing: {protocol: PROTOCOL}
workload:
  operations:
    - {at: 1s, client: P, broker: B1, id: a, advertise: "[class,eq,'A']"}
    - {at: 4s, client: P, broker: B1, publish: "[class,'A']"}
timeline: {join: 3s, run: 3s, drain: 10s}
"""


def test_a_message_that_ends_its_circles_late_is_blamed(room: JudgingRoom, tmp_path: Path) -> None:
    """No broker refuses such a message, and the run ends in quiet."""
    protocol = protocol_with("forgets for 100 links", tmp_path)
    assert Kind.CIRCLES in room.judged(load_text(TRIANGLE.replace("PROTOCOL", str(protocol)), "triangle")).kinds


BACK_OFF = """
name: far
topology: {kind: redundant-tree, tree: star, nodes: 3, replicas: 1, link: {delay: 290598us..352625us, loss: 1%}}
routing: {protocol: gryphon}
workload: {operations: [{at: 8s, client: S, broker: B, id: s, subscribe: "[class,eq,'B']"}]}
timeline: {join: 8s, run: 120s, drain: DRAIN, withdraw: 10min}
faults: [{at: run+1s, corrupt: A-C, share: 80%, for: 118s}]
seed: 15
"""


def test_a_transport_that_backs_off_for_minutes_is_no_lack_of_quiet(room: JudgingRoom) -> None:
    """TCP may wait as long again as the damage lasted."""
    kinds = [room.judged(load_text(BACK_OFF.replace("DRAIN", f"{drain}s"), "far")).kinds for drain in (10, DRAIN)]
    assert kinds == [(Kind.NO_QUIET,), ()]
