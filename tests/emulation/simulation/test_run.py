"""Whole simulated runs: what they leave, that the seed says all, and how they end before their time."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from emulation.planning.calibration import Calibration
from emulation.planning.plan import Plan, make_plan
from emulation.run.interrupt import Interrupt, Interrupted
from emulation.simulation.logs import BUFFERED_BYTES, ENCODED_AT_ONCE, LogDirectory
from emulation.simulation.run import simulate
from record import fidelity, manifest
from record.errors import HostError
from record.fidelity import FidelityVerdict
from record.log import EMULATOR, Event, TraceRecord
from record.time_units import SECOND
from scenario.loading import load

ROOT = Path(__file__).resolve().parents[3]

SCENARIO = """
name: ring
topology: {kind: ring, brokers: 6, link: {delay: 2ms..5ms, jitter: 10%, loss: 1%, bandwidth: 5mbit}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 3, rate: 10/s}
  subscriptions: {subscribers: 6, selectivity: 20%}
timeline: {join: 2s, run: 5s, drain: 3s}
vary: {routing.publications: [fixed, dynamic]}
seed: 5
"""

HASH = """
import hashlib, sys
from pathlib import Path
from emulation.planning.plan import make_plan
from scenario.loading import load
from emulation.simulation.run import simulate
run = simulate(make_plan(load(Path(sys.argv[1]))), Path(sys.argv[2])).directory
for log in sorted((run / "logs").iterdir()):
    print(log.name, hashlib.sha256(log.read_bytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "ring.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="module")
def plan(scenario: Path) -> Plan:
    return make_plan(load(scenario))


@pytest.fixture(scope="module")
def run(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    outcome = simulate(plan, tmp_path_factory.mktemp("runs"), calibration=Calibration.free())
    assert outcome.began
    assert not outcome.interrupted
    return outcome.directory


def records(run: Path) -> list[TraceRecord]:
    decode = msgspec.json.Decoder(TraceRecord).decode
    return [decode(line) for log in sorted((run / "logs").iterdir()) for line in log.read_bytes().splitlines()]


def test_the_run_directory_is_that_of_any_run(run: Path) -> None:
    assert {entry.name for entry in run.iterdir()} == {
        "manifest.json", "topology.json", "logs", "fidelity.json", "emulator.log", "workload",
    }  # fmt: skip
    assert {log.name for log in (run / "logs").iterdir()} == {
        *(f"B{number}.jsonl" for number in range(1, 7)), "publishers.jsonl", "subscribers.jsonl",
    }  # fmt: skip
    record = manifest.read(run)
    assert (record.runtime.name, record.links.name, record.image) == ("simulated", "modelled", None)
    assert record.clock.startswith("virtual")
    assert [variant.name for variant in record.variants] == ["fixed", "dynamic"]
    for variant in record.variants:
        assert [phase.name for phase in variant.phases] == ["start", "join", "run", "drain", "stop"]
        lengths = {phase.name: phase.end - phase.start for phase in variant.phases}
        assert (lengths["join"], lengths["run"]) == (2 * SECOND, 5 * SECOND)
        assert lengths["drain"] <= 3 * SECOND


def test_a_simulated_run_is_judged_by_what_can_be_measured(run: Path) -> None:
    judged = fidelity.read(run)
    assert judged.verdict is FidelityVerdict.VALID
    checks = {check.name: check for check in judged.variants[0].checks}
    assert checks["log records lost"].value == 0


def test_the_manifest_tells_where_the_calibration_comes_from(run: Path) -> None:
    assert manifest.read(run).calibration_origin == Calibration.free().source


def test_every_node_starts_and_stops_in_each_variant(run: Path) -> None:
    ends = Counter((each.node, each.variant, each.event) for each in records(run))
    nodes = [f"B{number}" for number in range(1, 7)] + ["publishers", "subscribers"]
    for node in nodes:
        for variant in ("fixed", "dynamic"):
            assert ends[node, variant, Event.STARTED] == ends[node, variant, Event.STOPPED] == 1


def test_operations_are_issued_at_their_time_and_all_are_answered(run: Path, plan: Plan) -> None:
    record = manifest.read(run).variants[0]
    begin = next(phase.start for phase in record.phases if phase.name == "join")
    issued = {
        (each.client or "", each.id or ""): each
        for each in records(run)
        if each.variant == "fixed" and each.intended is not None
    }
    planned = {(one.client, one.id): one for one in plan.variants[0].workload.operations()}
    assert issued.keys() == planned.keys()
    for name, each in issued.items():
        assert each.time == each.intended == begin + planned[name].at
    confirmed = {
        (each.client, each.id) for each in records(run) if each.variant == "fixed" and each.event is Event.CONFIRMED
    }
    assert confirmed == {name for name, one in planned.items() if one.attributes is None}


def test_notifications_take_as_long_as_links_at_least(run: Path) -> None:
    published = {(each.variant, each.id): each.time for each in records(run) if each.event is Event.PUBLISH}
    notified = [each for each in records(run) if each.event is Event.NOTIFIED]
    assert len(notified) > 100
    for each in notified:
        took = each.time - published[each.variant, each.id]
        assert took >= 1_000_000 * (each.hops or 0)
        assert (took == 0) == (each.hops == 0)


@pytest.mark.proof
def test_the_same_seed_gives_the_same_bytes_in_any_process(scenario: Path, plan: Plan, tmp_path: Path) -> None:
    run = simulate(plan, tmp_path / "here").directory
    here = "".join(
        f"{log.name} {hashlib.sha256(log.read_bytes()).hexdigest()}\n" for log in sorted((run / "logs").iterdir())
    )
    for hash_seed in ("0", "4711"):
        there = subprocess.run(
            [sys.executable, "-c", HASH, scenario, tmp_path / hash_seed], cwd=ROOT, text=True, capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": hash_seed}, check=True,
        )  # fmt: skip
        assert there.stdout == here


def test_another_seed_gives_other_bytes(scenario: Path, run: Path, tmp_path: Path) -> None:
    other = simulate(make_plan(load(scenario, {"seed": "6"})), tmp_path, calibration=Calibration.free()).directory
    assert (other / "logs" / "B1.jsonl").read_bytes() != (run / "logs" / "B1.jsonl").read_bytes()


class _AskedLater(Interrupt):
    """An interrupt at the third look, like a user's Ctrl-C."""

    looks = 0

    def check(self) -> None:
        self.looks += 1
        if self.looks == 3:
            raise Interrupted


def test_an_interrupted_run_keeps_what_was_simulated(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulation.simulation.deployment._LOOK_INTERVAL", 0.0)
    monkeypatch.setattr("emulation.simulation.deployment._STEP", 3 * SECOND)
    outcome = simulate(plan, tmp_path, calibration=Calibration.free(), interrupt=_AskedLater())
    assert outcome.interrupted
    record = manifest.read(outcome.directory)
    assert [variant.interrupted for variant in record.variants] == [True]
    assert [phase.name for phase in record.variants[0].phases] == ["start", "join"]
    assert {each.node for each in records(outcome.directory) if each.event is Event.STOPPED} >= {"B1", "publishers"}


def test_the_log_of_faults_of_an_interrupted_run_has_an_end(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulation.simulation.deployment._LOOK_INTERVAL", 0.0)
    monkeypatch.setattr("emulation.simulation.deployment._STEP", SECOND)
    plan = make_plan(load(scenario, {"faults": "[{at: 100ms, link_down: B1-B2}]"}))
    outcome = simulate(plan, tmp_path, calibration=Calibration.free(), interrupt=_AskedLater())
    assert outcome.interrupted
    ends = [each for each in records(outcome.directory) if each.event is Event.STOPPED and each.node == EMULATOR]
    assert len(ends) == 1


class _AskedInTheEnd(Interrupt):
    """An interrupt while clients leave, like a time limit that ends then."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

    def check(self) -> None:
        if any("phase=stop" in log.read_text() for log in self._directory.glob("*/emulator.log")):
            raise Interrupted


def test_a_run_can_be_ended_while_its_clients_leave(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulation.simulation.deployment._LOOK_INTERVAL", 0.0)
    plan = make_plan(load(scenario, {"timeline.withdraw": "10s"}))
    outcome = simulate(plan, tmp_path, calibration=Calibration.free(), interrupt=_AskedInTheEnd(tmp_path))
    assert outcome.interrupted
    assert manifest.read(outcome.directory).variants[0].interrupted


class _AskedTooLate(Interrupt):
    """An interrupt that comes when nothing looks at it any more."""

    asked = True

    def check(self) -> None:
        """The user asks later."""


def test_an_interrupt_in_the_end_of_a_variant_leaves_it_whole_and_begins_no_other(
    scenario: Path, tmp_path: Path
) -> None:
    plan = make_plan(load(scenario, {"vary": "{routing.publications: [fixed, dynamic]}"}))
    outcome = simulate(plan, tmp_path, calibration=Calibration.free(), interrupt=_AskedTooLate())
    assert outcome.interrupted
    record = manifest.read(outcome.directory)
    assert record.interrupted
    (only,) = record.variants
    assert (only.interrupted, [phase.name for phase in only.phases][-1]) == (False, "stop")


def test_brokers_withdraw_at_the_end_only_where_that_is_looked_at(scenario: Path, run: Path, tmp_path: Path) -> None:
    plan = make_plan(load(scenario, {"timeline.withdraw": "10s"}))
    looked_at = simulate(plan, tmp_path, calibration=Calibration.free()).directory
    withdrawals = [[each for each in records(made) if each.kind == "unsubscribe"] for made in (run, looked_at)]
    assert not withdrawals[0] and withdrawals[1]


def test_a_full_disk_ends_the_run_in_one_line(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(logs: LogDirectory, node: str, lines: object) -> None:
        logs.failure = OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LogDirectory, "append", full)
    with pytest.raises(HostError, match=r"no space left .* --out"):
        simulate(plan, tmp_path, calibration=Calibration.free())


def test_links_that_cannot_come_up_are_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "deaf.yaml").write_text(SCENARIO.replace("loss: 1%", "loss: 100%"))
    with pytest.raises(HostError, match="do not come up"):
        simulate(make_plan(load(tmp_path / "deaf.yaml")), tmp_path, calibration=Calibration.free())


class TestLogs:
    def record(self, number: int) -> TraceRecord:
        return TraceRecord(time=number, node="B1", variant="base", event=Event.SENT, id=f"P1:{number}")

    def test_records_are_written_when_many_wait_and_when_flushed(self, tmp_path: Path) -> None:
        logs = LogDirectory(tmp_path, "base")
        written = tmp_path / "B1.jsonl"
        numbers = itertools.count()
        while not written.exists():
            logs.of("B1").write(self.record(next(numbers)))
        longest = max(map(len, written.read_bytes().splitlines(keepends=True)))
        assert BUFFERED_BYTES <= written.stat().st_size < BUFFERED_BYTES + ENCODED_AT_ONCE * longest
        logs.of("B1").write(self.record(last := next(numbers)))
        assert len(written.read_bytes().splitlines()) == last
        logs.flush()
        lines = written.read_bytes().splitlines()
        assert [msgspec.json.decode(line)["time"] for line in lines] == list(range(last + 1))

    def test_no_file_stays_open(self, tmp_path: Path) -> None:
        logs = LogDirectory(tmp_path, "base")
        for number in range(2000):
            logs.of(f"B{number}").write(self.record(number))
        logs.flush()
        assert len(list(tmp_path.iterdir())) == 2000
        opened = [entry.readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
        assert [path for path in opened if path.is_relative_to(tmp_path)] == []

    def test_what_cannot_be_written_is_noted(self, tmp_path: Path) -> None:
        (tmp_path / "B1.jsonl").symlink_to("/dev/full")
        logs = LogDirectory(tmp_path, "base")
        logs.of("B1").write(self.record(1))
        logs.flush()
        assert logs.failure is not None
        assert logs.failure.errno == errno.ELOOP, "a log is never written through a link"


def test_a_stopwatch_tells_of_the_routers_work_and_changes_nothing_else(scenario: Path, tmp_path: Path) -> None:
    """Each broker's routing of each publication took two steps of the stopwatch or, with a match, four."""
    steps = itertools.count()
    timed = simulate(make_plan(load(scenario)), tmp_path / "timed", stopwatch=lambda: next(steps)).directory
    plain = simulate(make_plan(load(scenario)), tmp_path / "plain").directory
    routed = []
    for name in (f"B{number}" for number in range(1, 7)):
        took, free = (_records(run / "logs" / f"{name}.jsonl") for run in (timed, plain))
        matched = {(record.variant, record.id) for record in took if record.event is Event.MATCHED}
        mine = [record for record in took if record.event is Event.RECEIVED and record.kind == "publish"]
        assert all(record.duration == (3 if (record.variant, record.id) in matched else 1) for record in mine)
        routed += mine
        for record in (*took, *free):
            if record.event in {Event.MATCHED, Event.RECEIVED}:
                record.duration = None
        assert took == free
    assert routed


def _records(log: Path) -> list[TraceRecord]:
    decoder = msgspec.json.Decoder(TraceRecord)
    return [decoder.decode(line) for line in log.read_bytes().splitlines()]
