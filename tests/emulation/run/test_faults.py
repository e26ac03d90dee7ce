"""A run on this host in which things go wrong on purpose: what it does is what it logs, and nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from record.time_units import SECOND

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("docker") is None or shutil.which("mnexec") is None,
        reason="needs root, Docker and Mininet",
    ),
]

SCENARIO = """
name: faulty
topology: {kind: ring, brokers: 4, link: {delay: 2ms}}
routing: {protocol: tid, publications: dynamic}
workload:
  publications: {publishers: 2, rate: 10/s, placement: [B1]}
  subscriptions: {subscribers: 4, selectivity: 30%, placement: [B2, B3]}
timeline: {join: 1s, run: 5s, drain: 5s}
brokers: {limits: {heartbeat: 500ms}}
faults:
  - {at: run+1s, kill: B2, for: 1500ms}
  - {at: run+2s, pause: B3, for: 2s}
  - {at: run+2s, slow: B4, cpu: 0.1, for: 1s}
  - {after: 30 publications, degrade: B1-B4, delay: 30ms, for: 2s}
  - {at: run+3s, link_down: B1->B4}
  - {at: run+3500ms, stop: B4}
seed: 3
"""


def records(run: Path, node: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "logs" / f"{node}.jsonl").read_text().splitlines()]


def test_a_run_with_faults(tmp_path: Path) -> None:
    scenario, out = tmp_path / "faulty.yaml", tmp_path / "runs"
    scenario.write_text(SCENARIO)
    command = [sys.executable, "-m", "command_line", "emulate", scenario, "--out", out, "--no-spark", "--no-report"]
    done = subprocess.run(
        [*map(str, command), "--runtime", "container"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 3}, done.stdout + done.stderr  # a busy host makes the run invalid, not wrong
    (run,) = out.iterdir()
    phases = {
        phase["name"]: phase for phase in json.loads((run / "manifest.json").read_bytes())["variants"][0]["phases"]
    }
    logged = [record for record in records(run, "emulator") if record["event"] in ("fault", "healed")]
    assert sorted((record["event"], record["text"], record["peer"]) for record in logged) == [
        ("fault", "degrade", "B1-B4"), ("fault", "kill", "B2"), ("fault", "link_down", "B1->B4"),
        ("fault", "pause", "B3"), ("fault", "stop", "B4"), ("fault", "throttle", "B4"),
        ("healed", "link_up", "B1->B4"), ("healed", "recover", "B1-B4"), ("healed", "restart", "B2"),
        ("healed", "restart", "B4"), ("healed", "resume", "B3"), ("healed", "unthrottle", "B4"),
    ]  # fmt: skip
    spans = {
        record["text"]: (record["time"], record["time"] + record["duration"])
        if record["event"] == "fault"
        else (record["time"] - record["duration"], record["time"])
        for record in logged
    }
    begun_at, done_at = ({text: span[side] for text, span in spans.items()} for side in (0, 1))
    assert phases["run"]["start"] + SECOND // 2 < begun_at["kill"], "a second later, as asked, less the drivers' lead"
    assert done_at["kill"] < begun_at["pause"] < begun_at["link_down"] < begun_at["stop"]
    assert max(record["time"] for record in logged) <= phases["drain"]["start"], "all is healed before the drain phase"
    for broker, ends in (("B1", 1), ("B2", 1), ("B3", 1), ("B4", 2)):
        own = records(run, broker)
        starts = [record["count"] for record in own if record["event"] == "started"]
        assert starts == ([1, 2] if broker in {"B2", "B4"} else [1])
        assert len([record for record in own if record["event"] == "stopped"]) == ends, "who is killed says nothing"
    asleep = [record for record in records(run, "B3") if done_at["pause"] < record["time"] < begun_at["resume"]]
    assert asleep == [], "a paused broker does nothing"
    assert "delivery: correct" in done.stdout or done.returncode == 3
    assert_faults_are_not_taken_for_a_slow_host(run)
    listed = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label=brokerlab.run={run.name}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout == ""


def assert_faults_are_not_taken_for_a_slow_host(run: Path) -> None:
    """A frozen broker finds its event loop late, which is not the host's fault."""
    (judged,) = json.loads((run / "fidelity.json").read_bytes())["variants"]
    slept = max(record["duration"] for record in records(run, "B3") if record["event"] == "lag")
    longest = max(sample["loop_lag"] or 0.0 for sample in judged["samples"])
    assert longest < 1.5 < slept / 1e9
