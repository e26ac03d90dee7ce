"""Client programs in whole runs: judged by what was seen at their sites, named when they fail, gone with the run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulation.host.journal import Journal
from emulation.host.processes import ProcessIdentity, await_stop, processes_of_run, processes_started_with
from emulation.host.run_paths import RunPaths
from emulation.run.client_programs import ClientPrograms
from emulation.runtimes.client_processes import ClientProcesses
from record.exit_codes import ExitCode
from scenario.sections.clients import ProgramSection
from scenario.sections.timeline import Timeline

ROOT = Path(__file__).resolve().parents[3]
CLIENT = [sys.executable, str(ROOT / "tests" / "foreign" / "client.py")]
BROKER = [sys.executable, str(ROOT / "tests" / "foreign" / "broker.py")]

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mnexec") is None, reason="needs root and Mininet"),
]

SCENARIO = """
name: programs
topology: {kind: line, brokers: 2, link: {delay: 2ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 2, rate: 10/s, placement: [B1]}
  subscriptions: {subscribers: 2, selectivity: 50%, placement: [B1]}
clients:
  sites: {far: {broker: B2, delay: 3ms}}
timeline: {join: 3s, run: 3s, drain: 1s}
seed: 4
"""


def run(folder: Path, programs: Mapping[str, object], **further: object) -> tuple[int, str, Path]:
    """Exit code, output and run directory."""
    scenario = yaml.safe_load(SCENARIO)
    scenario["clients"]["programs"] = dict(programs)
    scenario["clients"]["sites"]["far"]["clients"] = list(programs)
    scenario |= further
    file = folder / "programs.yaml"
    file.write_text(yaml.safe_dump(scenario))
    command = [sys.executable, "-m", "command_line", "emulate", str(file), "--runtime", "process", "--no-spark"]
    done = subprocess.run(
        [*command, "--out", str(folder / "runs")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    printed = done.stdout + done.stderr
    assert (folder / "runs").is_dir(), printed
    (directory,) = (folder / "runs").glob("*")
    assert not list(processes_of_run(directory.name))
    return done.returncode, printed, directory


def program(defect: str = "", **environment: str) -> dict[str, Any]:
    found = {"FOREIGN_CLIENT": defect, "PYTHONPATH": str(ROOT), **environment}
    return {"command": CLIENT, "environment": found}


def summary(directory: Path) -> dict[str, Any]:
    (variant,) = json.loads((directory / "summary.json").read_bytes())["variants"]
    found: dict[str, Any] = variant
    return found


def check(directory: Path, name: str) -> dict[str, Any]:
    (variant,) = json.loads((directory / "fidelity.json").read_bytes())["variants"]
    (found,) = [one for one in variant["checks"] if one["name"] == name]
    made: dict[str, Any] = found
    return made


def logged(directory: Path, event: str, client: str) -> int:
    lines = map(json.loads, (directory / "logs" / "programs.jsonl").read_bytes().splitlines())
    return sum((line["event"], line.get("client")) == (event, client) for line in lines)


@pytest.mark.proof
def test_programs_are_judged_at_their_site_and_named_when_they_fail(tmp_path: Path) -> None:
    elsewhere = "10.0.0.1:7000,10.0.0.2:7000,10.0.0.5:7000,10.0.0.6:7000,/run/brokerlab"
    programs = {
        "C1": program("escape", OTHER_ADDRESSES=elsewhere),
        "C2": program("crash"),
        "C3": program("speak_for_another"),
        "C4": program("stay"),
        "C5": program("acknowledge_what_has_not_come"),
        "C6": program("crash_between_acknowledgements"),
    }
    code, printed, directory = run(tmp_path, programs)
    delivery = summary(directory)["delivery"]
    assert delivery["verdicts"] == ["correct"], printed
    # C2 ended at its second notification; how many more were under way to it then is the host's doing
    assert logged(directory, "notified", "C1") > logged(directory, "notified", "C2") >= 2
    assert logged(directory, "unprocessed", "C6") >= 2
    assert not logged(directory, "misnumbered", "C1")
    failed = check(directory, "client programs that failed")
    assert failed["value"] == 5
    for sentence in (
        "client program C2 ended with exit code 7: I have had enough",
        "client program C3 spoke for the client 'S1', which it is not; its stream was ended",
        "client program C4 did not end within 5 s of SIGTERM, and was killed",
        "client program C5 acknowledged notification 1000000, and had got none on this stream; its stream was ended",
        "client program C6 ended with exit code 7 without output",
    ):
        assert sentence in failed["detail"]
        assert f"base: {sentence}" in printed
    escaped = (directory / "variants" / "base" / "programs" / "1-C1.log").read_text().splitlines()
    assert escaped == [
        *(f"{address}: Network is unreachable" for address in elsewhere.split(",")[:-1]),
        "/run/brokerlab: Permission denied",
    ]
    assert code == ExitCode.INVALID


@pytest.mark.proof
def test_programs_that_faults_end_and_freeze_come_back_and_are_judged(tmp_path: Path) -> None:
    faults = [{"at": "4s", "crash": "C1", "for": "2s"}, {"at": "9s", "pause": "C2", "for": "1s"}]
    timeline = {"join": "3s", "run": "12s", "drain": "1s"}
    programs = {"C1": program(), "C2": program("compose")}
    code, printed, directory = run(tmp_path, programs, faults=faults, timeline=timeline)
    assert code == ExitCode.CORRECT, printed
    delivery = summary(directory)["delivery"]
    assert delivery["verdicts"] == ["correct"]
    assert delivery["detections"]["expected"] == delivery["detections"]["delivered"] > 3
    assert check(directory, "client programs that failed")["value"] == 0
    assert logged(directory, "link_up", "C1") == 2
    assert logged(directory, "subscribe", "C1") == 2
    assert logged(directory, "notified", "C1") < logged(directory, "notified", "C2")


@pytest.mark.proof
def test_a_program_that_opens_no_session_is_an_error_that_names_its_field(tmp_path: Path) -> None:
    code, printed, _ = run(tmp_path, {"C5": {"command": ["sh", "-c", "echo no wish to; exit 3"]}})
    assert code == ExitCode.HOST
    sentence = "clients.programs.C5: before it had opened a session, it ended with exit code 3: no wish to"
    assert sentence in printed


@pytest.mark.proof
@pytest.mark.parametrize(
    ("defect", "verdicts", "least"),
    [
        ("lose_each_tenth_notification", ["lost"], 6),  # of whichever client's
        ("skip_each_tenth_number", ["lost", "misnumbered"], 4),
        ("repeat_each_tenth_under_a_new_number", ["duplicated"], 4),
    ],
)
def test_the_verdict_names_a_defect_of_the_broker_on_the_way_to_a_program(
    tmp_path: Path, defect: str, verdicts: list[str], least: int
) -> None:
    environment = {"PYTHONPATH": str(ROOT), "FOREIGN_DEFECT": defect}
    brokers = {"level": 3, "command": BROKER, "environment": environment}
    code, printed, directory = run(tmp_path, {"C1": program()}, brokers=brokers, routing={"protocol": "foreign"})
    assert code == ExitCode.VIOLATED, printed
    delivery = summary(directory)["delivery"]
    assert delivery["verdicts"] == verdicts
    assert delivery["lost"] + delivery["duplicate"] >= least
    assert "C1" in printed


def test_a_program_is_ended_frozen_and_started_again_with_all_that_it_has_started(tmp_path: Path) -> None:
    paths, script = RunPaths("run", tmp_path, tmp_path), "sleep 3600 & exec sleep 3600"
    paths.variant("base").mkdir(parents=True)
    sections = {"S1": ProgramSection(command=("sh", "-c", script)), "S2": ProgramSection(command=("sleep", "3600"))}
    journal, timeline = Journal(tmp_path / "journal.jsonl"), Timeline.model_validate({"join": "1s", "run": "1s"})

    def processes() -> list[ProcessIdentity]:
        return list(processes_started_with("BROKERLAB_PROGRAM", "run/S1"))

    host = ClientProcesses(paths, journal, dict.fromkeys(sections, os.getpid()))
    with ClientPrograms(sections, dict.fromkeys(sections, host), paths.variant("base"), timeline) as programs:
        programs.start()
        while len(before := processes()) < 2:
            pass
        programs.pause(["S1", "another"])
        for process in before:
            await_stop(process)
        programs.resume(["S1"])
        programs.end(["S1", "another"])
        assert not any(process.alive for process in before)
        assert not processes()
        assert not list(programs.ended())
        programs.start_again(["S1", "S2", "another"])
        (again,) = processes()[:1]
        assert again.alive
        assert len(list(programs.leave())) == 0
    assert not list(processes_of_run("run"))
