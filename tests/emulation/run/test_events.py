"""Simulated runs over an overlay that changes, with faults on links that come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record import manifest
from record.log import Event
from record.time_units import SECOND
from scenario.loading import load
from tests.contracts.protocols import registered
from tests.emulation.simulation.test_run_faults import log
from topology.evolutions.evolution import Appears

SCENARIO = """
name: moving
topology: %s
motion: %s
routing: {protocol: gossip}
workload:
  publications: {source: stocks, publishers: 2, rate: 10/s}
  subscriptions: {subscribers: 6, selectivity: 30%%}
brokers: {limits: {heartbeat: 200ms}}
timeline: {join: 2s, run: 6s, drain: 2s}
seed: 4
faults: %s
"""
RING = "{kind: ring, brokers: 4, link: {delay: 2ms}}"
SCRIPT = (
    "{kind: script, partitions: allowed, changes: [{at: 1s, vanish: [B1, B2]}, {at: 2s, appear: [B1, B3]}, "
    "{at: 3s, vanish: [B3, B4]}, {at: 4s, appear: [B1, B2]}, {at: 5s, vanish: [B1, B3]}]}"
)
LogEntry = tuple[float, str, str | None, str | None]


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with registered():
        yield


def run(directory: Path, faults: str = "[]", *, topology: str = RING, motion: str = SCRIPT, out: str = "runs") -> Path:
    path = directory / "moving.yaml"
    path.write_text(SCENARIO % (topology, motion, faults))
    return simulate(make_plan(load(path)), directory / out, calibration=Calibration.free()).directory


def logged(run: Path) -> list[LogEntry]:
    """The emulator's log, with seconds since the start of the run phase."""
    (variant,) = manifest.read(run).variants
    begin = variant.run_start or 0
    records = log(run, "emulator")[1:-1]
    return [(round((each.time - begin) / SECOND, 9), each.event.value, each.text, each.peer) for each in records]


def test_links_appear_and_vanish_at_their_times(tmp_path: Path) -> None:
    made = run(tmp_path)
    assert logged(made) == [
        (1, "vanished", None, "B1-B2"),
        (2, "appeared", None, "B1-B3"),
        (3, "vanished", None, "B3-B4"),
        (4, "appeared", None, "B1-B2"),
        (5, "vanished", None, "B1-B3"),
    ]
    assert all(record.intended == record.time for record in log(made, "emulator")[1:-1])
    neighbours = [
        (record.event, record.peer, record.count)
        for record in log(made, "B1")
        if record.event in (Event.LINK_ADDED, Event.LINK_REMOVED)
    ]
    assert neighbours == [
        (Event.LINK_REMOVED, "B2", 1), (Event.LINK_ADDED, "B3", 1), (Event.LINK_ADDED, "B2", 2),
        (Event.LINK_REMOVED, "B3", 1),
    ]  # fmt: skip


def test_messages_cross_present_links_only(tmp_path: Path) -> None:
    made = run(tmp_path)
    begin = manifest.read(made).variants[0].run_start or 0
    present = {"B2": ((-2, 1), (4, 8)), "B3": ((2, 5),), "B4": ((-2, 8),)}
    sent = [record for record in log(made, "B1") if record.event is Event.SENT and record.time < begin + 8 * SECOND]
    assert Counter(record.peer for record in sent).keys() == present.keys()
    for record in sent:
        second = (record.time - begin) / SECOND
        assert any(first <= second <= last for first, last in present[record.peer or ""])


def test_a_fault_on_a_link_that_is_not_there_does_nothing(tmp_path: Path) -> None:
    made = run(
        tmp_path, "[{at: run+1500ms, link_down: B1-B3, for: 200ms}, {at: run+1600ms, degrade: B1-B2, delay: 1s}]"
    )
    assert [entry for entry in logged(made) if entry[1] not in ("appeared", "vanished")] == [
        (1.5, "without_effect", "link_down", "B1-B3"),
        (1.6, "without_effect", "degrade", "B1-B2"),
        (4, "fault", "degrade", "B1-B2"),
        (6, "healed", "recover", "B1-B2"),
    ]


def test_a_link_is_healed_before_it_vanishes_and_hit_when_it_appears(tmp_path: Path) -> None:
    made = run(tmp_path, "[{at: run+500ms, partition: [[B1], [B2, B3]], for: 4s}]")
    assert logged(made) == [
        (0.5, "without_effect", "link_down", "B1-B3"),
        (0.5, "fault", "link_down", "B1-B2"),
        (1, "healed", "link_up", "B1-B2"),
        (1, "vanished", None, "B1-B2"),
        (2, "appeared", None, "B1-B3"),
        (2, "fault", "link_down", "B1-B3"),
        (3, "vanished", None, "B3-B4"),
        (4, "appeared", None, "B1-B2"),
        (4, "fault", "link_down", "B1-B2"),
        (4.5, "healed", "link_up", "B1-B2"),
        (4.5, "healed", "link_up", "B1-B3"),
        (5, "vanished", None, "B1-B3"),
    ]


def test_a_broker_that_was_down_restarts_with_the_present_links(tmp_path: Path) -> None:
    made = run(tmp_path, "[{at: run+500ms, kill: B3, for: 3s}]")
    late = next(record for record in log(made, "B3") if record.count == 2 and record.event is Event.STARTED).time
    up = {record.peer for record in log(made, "B3") if record.event is Event.LINK_UP and record.time > late}
    assert up == {"B1", "B2"}


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    topology = "{kind: random-regular, brokers: 20, degree: 4, link: {delay: 1ms..3ms, jitter: 5%}}"
    motion = "{kind: rewire, every: 50ms, repaired_after: 100ms, degree: 4, begins: join}"
    faults = "[{at: run+1s, kill: B3, for: 1s}, {at: run+2s, partition: [[B1, B2, B3], rest], for: 1s}]"
    first, second = (run(tmp_path, faults, topology=topology, motion=motion, out=out) for out in ("one", "two"))
    for file in sorted((first / "logs").iterdir()):
        assert file.read_bytes() == (second / "logs" / file.name).read_bytes(), file.name


def test_all_changes_of_the_plan_are_made(tmp_path: Path) -> None:
    topology = "{kind: random-regular, brokers: 20, degree: 4, link: {delay: 1ms}}"
    motion = "{kind: rewire, every: 20ms, repaired_after: 100ms, degree: 4}"
    made = run(tmp_path, topology=topology, motion=motion)
    (plan,) = make_plan(load(tmp_path / "moving.yaml")).variants
    assert plan.evolution is not None
    begin = (manifest.read(made).variants[0].run_start or 0) - 2 * SECOND
    run_end = begin + 8 * SECOND
    wanted = [
        (begin + round(change.at * SECOND), Event.APPEARED if isinstance(change, Appears) else Event.VANISHED)
        for change in plan.evolution.changes
    ]
    done = [(record.time, record.event) for record in log(made, "emulator")[1:-1]]
    assert done == wanted[: len(done)], "the drain phase ends, and the changes with it, once no message moves"
    assert len(done) >= sum(time <= run_end for time, _ in wanted) > 500
