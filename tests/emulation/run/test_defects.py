"""A defect of a router through the command line: the verdict of a run, simulated or with real brokers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.tables.summary import BROKER_DEFECT
from record.exit_codes import ExitCode
from tests.broker_service.defective import DEFECTIVE

ROOT = Path(__file__).resolve().parents[3]
SCENARIO = f"""
name: defect
topology: {{kind: line, brokers: 3}}
routing: {{protocol: {DEFECTIVE}, fails_in: unsubscribe}}
workload:
  operations:
    - {{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}}
    - {{at: 1s, client: S, broker: B3, id: s, subscribe: "[class,eq,'STOCK']"}}
    - {{at: 3s, client: P, broker: B1, id: p1, publish: "[class,'STOCK']"}}
    - {{at: 4s, client: S, broker: B3, unsubscribe: s}}
timeline: {{join: 2s, run: 600s, drain: 1s}}
"""
SENTENCE = (
    f"broker defect: B3 (protocol {DEFECTIVE}) failed on unsubscribe 's' of client 'S': "
    "ValueError: too many values to unpack (expected 2)"
)


def run(runtime: str, directory: Path) -> subprocess.CompletedProcess[str]:
    scenario = directory / "defect.yaml"
    scenario.write_text(SCENARIO)
    return subprocess.run(
        [sys.executable, "-m", "tests.emulation.run.defective_brokerlab", "emulate", str(scenario), "--runtime",
         runtime, "--no-spark", "--out", str(directory / "runs")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def assert_defect(finished: subprocess.CompletedProcess[str], directory: Path) -> None:
    assert finished.returncode == ExitCode.BROKER_DEFECT, finished.stdout + finished.stderr
    output = finished.stdout
    assert "  delivery: broker defect\n" in output
    assert SENTENCE in output
    assert "a, b = (1, 2, 3)" not in output, "the stack trace is in the broker's log and in the report"
    (found,) = (directory / "runs").iterdir()
    summary = json.loads((found / "summary.json").read_bytes())
    assert summary["delivery"] == [BROKER_DEFECT]
    (example,) = summary["variants"][0]["delivery"]["examples"]
    assert example["detail"].startswith(SENTENCE)
    assert "a, b = (1, 2, 3)" in (found / "report" / "index.html").read_text()


def test_a_defect_ends_a_simulated_run(tmp_path: Path) -> None:
    assert_defect(run("simulated", tmp_path), tmp_path)


@pytest.mark.proof
@pytest.mark.container
@pytest.mark.skipif(os.geteuid() != 0 or not all(map(shutil.which, ("mnexec", "docker"))), reason="needs containers")
def test_a_defect_ends_a_run_of_real_brokers(tmp_path: Path) -> None:
    """The run phase would last ten minutes. Processes: `tests/emulation/multi_host/test_three_hosts.py`."""
    assert_defect(run("container", tmp_path), tmp_path)
