"""Cases on real brokers: what is shared between cases, and that nothing stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulation.host.processes import processes_of_run
from emulation.host.registry import runs
from emulation.run.interrupt import Interrupt
from studies.conformance import PROTOCOLS, CaseVerdict, run_case
from studies.conformance.host import host_case_runner
from tests.studies.conformance.cases import ADVERTISE, SUBSCRIBE, case, line, publish

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.container


def test_brokers_serve_further_cases_until_one_is_killed() -> None:
    ordinary = case(ADVERTISE, SUBSCRIBE, publish("p1"), expect={"S": ["p1"]})
    down, up = {"op": "link_down", "link": ["B1", "B2"]}, {"op": "link_up", "link": ["B1", "B2"]}
    cut = case(ADVERTISE, SUBSCRIBE, down, publish("p1"), up, expect={"S": ["p1"]})
    killing = case(ADVERTISE, SUBSCRIBE, {"op": "kill", "broker": "B3"}, publish("p1"))
    wrong = case(ADVERTISE, SUBSCRIBE, publish("p1"))
    verdicts, brokers = [], []
    with Interrupt() as interrupt, host_case_runner("process", interrupt, print) as runner:
        for trial in (ordinary, cut, wrong, killing, ordinary):
            verdicts.append(run_case(trial, PROTOCOLS["tid-fixed"], runner).verdict)
            brokers.append(runner._overlay)
    assert verdicts == [
        CaseVerdict.PASSED,
        CaseVerdict.PASSED,
        CaseVerdict.FAILED,
        CaseVerdict.PASSED,
        CaseVerdict.PASSED,
    ]
    assert brokers[0] is not None
    assert brokers[:3] == [brokers[0]] * 3
    assert brokers[3] is None
    assert brokers[4] not in (None, brokers[0])


@pytest.mark.proof
def test_an_interrupted_call_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    steps = [ADVERTISE, SUBSCRIBE, *(publish(f"p{number}", wait="1s") for number in range(20))]
    file.write_text(json.dumps([line(ADVERTISE, id="first"), line(*steps, id="long", expect={})]))
    command = [sys.executable, "-m", "command_line", "conformance", str(file), "--runtime", "process", "--verbose"]
    before = {run for run, _ in runs()}
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("pass  first")
        (run,) = [run for run, owner in runs() if run not in before and owner and owner.process.pid == process.pid]
        assert list(processes_of_run(run))
        process.send_signal(signal.SIGTERM)
        output = process.stdout.read()
    assert process.returncode == 130
    assert "interrupted after" in output
    assert not list(processes_of_run(run))
    assert run not in {run for run, _ in runs()}
