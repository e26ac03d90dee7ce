"""Simulated runs in which things go wrong on purpose."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from emulation.planning.calibration import Calibration
from emulation.planning.plan import Plan, make_plan
from emulation.simulation.run import simulate
from record import manifest
from record.errors import HostError
from record.log import Event, TraceRecord
from record.manifest import PhaseRecord
from record.time_units import SECOND
from scenario.loading import load

SCENARIO = """
name: faulty
topology: {kind: full, brokers: 5, link: {delay: 2ms}}
routing: {protocol: tid, publications: dynamic}
workload:
  publications: {source: stocks, publishers: 3, rate: 20/s, placement: [B1]}
  subscriptions: {subscribers: 6, selectivity: 20%, placement: [B1, B2, B3]}
timeline: {join: 2s, run: 20s, drain: 10s}
brokers: {limits: {heartbeat: 200ms}}
seed: 5
faults:
"""


def planned(directory: Path, *entries: str) -> Plan:
    path = directory / "faulty.yaml"
    path.write_text(SCENARIO + "".join(f"  - {{{entry}}}\n" for entry in entries))
    return make_plan(load(path))


def simulated(directory: Path, *entries: str, out: str = "runs") -> Path:
    return simulate(planned(directory, *entries), directory / out, calibration=Calibration.free()).directory


def log(run: Path, node: str) -> list[TraceRecord]:
    content = (run / "logs" / f"{node}.jsonl").read_bytes()
    return msgspec.json.Decoder(TraceRecord).decode_lines(content)


def phases(run: Path) -> dict[str, PhaseRecord]:
    return {phase.name: phase for phase in manifest.read(run).variants[0].phases}


def told(run: Path, since: int) -> list[tuple[float, str, str | None, str | None]]:
    """The emulator's log of faults, with seconds since a moment."""
    return [
        ((record.time - since) / SECOND, record.event.value, record.text, record.peer)
        for record in log(run, "emulator")[1:-1]
    ]


def test_faults_happen_when_and_where_the_scenario_says(tmp_path: Path) -> None:
    run = simulated(
        tmp_path,
        "at: run+1s, kill: B2, for: 5s",
        "at: 8s, link_down: B1->B3, for: 2s",
        "at: run+12s, pause: B4",
        "at: run+13s, stop: B5",
    )
    phase = phases(run)
    assert told(run, phase["join"].start) == [
        (3, "fault", "kill", "B2"), (8, "healed", "restart", "B2"),
        (8, "fault", "link_down", "B1->B3"), (10, "healed", "link_up", "B1->B3"),
        (14, "fault", "pause", "B4"), (15, "fault", "stop", "B5"),
        (22, "healed", "restart", "B5"), (22, "healed", "resume", "B4"),
    ]  # fmt: skip
    assert phase["run"].end == phase["drain"].start == phase["join"].start + 22 * SECOND
    events = {broker: Counter(record.event for record in log(run, broker)) for broker in ("B1", "B2", "B5")}
    assert {broker: found[Event.STARTED] for broker, found in events.items()} == {"B1": 1, "B2": 2, "B5": 2}
    assert {broker: found[Event.STOPPED] for broker, found in events.items()} == {"B1": 1, "B2": 1, "B5": 2}


def test_a_count_is_met_at_once(tmp_path: Path) -> None:
    run = simulated(tmp_path, "after: 100 notifications, kill: B2", "after: 30 publications, pause: B4, for: 1s")
    for fault, event, node, number in (
        ("kill", Event.NOTIFIED, "subscribers", 100),
        ("pause", Event.PUBLISH, "publishers", 30),
    ):
        (at,) = (record.time for record in log(run, "emulator")[1:-1] if record.text == fault)
        times = [record.time for record in log(run, node) if record.event is event]
        assert len([time for time in times if time <= at]) >= number
        assert len([time for time in times if time < at - SECOND // 1000]) < number


def test_clients_of_a_killed_broker_are_served_again_after_its_restart(tmp_path: Path) -> None:
    run = simulated(tmp_path, "at: run+5s, kill: B2, for: 5s")
    begin, clients = phases(run)["run"].start, log(run, "subscribers")
    at_b2 = {record.client for record in clients if record.event is Event.SUBSCRIBE and record.peer == "B2"}
    got = [record.time - begin for record in clients if record.event is Event.NOTIFIED and record.client in at_b2]
    assert [time for time in got if 5.1 * SECOND < time < 10 * SECOND] == []
    assert len([time for time in got if time > 13 * SECOND]) > 10


def test_the_same_seed_gives_the_same_faults_to_the_byte(tmp_path: Path) -> None:
    entries = ["at: run+2s, kill: random, for: 3s", "at: run+8s, flap: random-link(2), down: 1s, up: 500ms, times: 3"]
    one, other = (simulated(tmp_path, *entries, out=out) for out in ("one", "other"))
    for path in sorted((one / "logs").iterdir()):
        assert path.read_bytes() == (other / "logs" / path.name).read_bytes(), path.name


def test_a_run_without_faults_has_no_log_of_them(tmp_path: Path) -> None:
    path = tmp_path / "calm.yaml"
    path.write_text(SCENARIO.replace("faults:\n", "").replace("run: 20s", "run: 2s"))
    run = simulate(make_plan(load(path)), tmp_path / "runs", calibration=Calibration.free()).directory
    assert not (run / "logs" / "emulator.jsonl").exists()


def test_faults_are_as_much_slower_as_the_run(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(SCENARIO + "  - {at: run+1s, kill: B2, for: 5s}\ntime_dilation: 3\n")
    run = simulate(make_plan(load(path)), tmp_path / "runs", calibration=Calibration.free()).directory
    assert told(run, phases(run)["join"].start) == [(9, "fault", "kill", "B2"), (24, "healed", "restart", "B2")]


def test_what_virtual_time_cannot_do_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"the runtime simulated cannot do faults\[0\].slow \(throttle\): virtual time"):
        simulated(tmp_path, "at: run+1s, slow: B2, cpu: 0.1")
    assert not (tmp_path / "runs").exists()


def test_the_busiest_is_between_those_who_publish_and_those_who_subscribe(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(
        SCENARIO.replace("kind: full, brokers: 5", "kind: line, brokers: 9").replace("[B1, B2, B3]", "[B3]")
        + "  - {at: run+1s, kill: busiest}\n"
    )
    assert make_plan(load(path)).variants[0].schedule().brokers == {"B2"}
