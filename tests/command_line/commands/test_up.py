"""Held runs beside each other, and what is left of one whose supervisor was killed; runs that cannot be held."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from command_line.commands.up import HoldRequest, overrides_of
from emulation.held.held_runs import CONSOLE, HeldRun, held_run, held_runs
from emulation.host.processes import await_end, identify, processes_of_run
from emulation.host.registry import ROOT as RUNS
from record.errors import BadInputError
from record.exit_codes import ExitCode
from tests.waiting import await_true

ROOT = Path(__file__).resolve().parents[3]
LINE = ROOT / "scenarios" / "line-3.yaml"


def request(scenario: Path, **overrides: str) -> HoldRequest:
    changed = {name.replace("_", ".", 1): value for name, value in overrides.items()}
    return HoldRequest(scenario, changed, "auto", "auto", Path("runs"), 60, 1 << 20, report=False, live=False)


def test_what_cannot_be_held_is_refused() -> None:
    assert overrides_of(request(LINE)) == {"timeline.run": "1min", "timeline.held": "1min"}
    with pytest.raises(BadInputError, match=r"timeline\.run: a held run lasts until `brokerlab down`"):
        overrides_of(request(LINE, timeline_run="3s"))
    with pytest.raises(BadInputError, match=r"has 2; choose by --set, such as --set routing\.publications=VALUE"):
        overrides_of(request(ROOT / "scenarios" / "quickstart.yaml"))
    with pytest.raises(BadInputError, match=r"timeline\.held: a held run lasts until `brokerlab down`"):
        overrides_of(request(LINE, timeline_held="3s"))
    with pytest.raises(BadInputError, match="choose 0, at which time stands still"):
        overrides_of(replace(request(LINE), speed=-1.0))
    slowed = HoldRequest(
        LINE, {"time_dilation": "2"}, "auto", "auto", Path("runs"), 60, 1 << 20, report=False, live=False
    )
    with pytest.raises(BadInputError, match="add --set time_dilation=1"):
        overrides_of(slowed)


def brokerlab(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "command_line", *map(str, words)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


def test_modules_of_the_users_directory_are_not_taken_for_brokerlabs(tmp_path: Path) -> None:
    (tmp_path / "analysis.py").write_text("raise SystemExit('a module of the user')\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "command_line", "up", LINE, "--runtime", "simulated", "--for", "1s"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert "a module of the user" not in done.stdout
    assert "\nrun      " in done.stdout


def up(out: Path, *options: object) -> HeldRun:
    done = brokerlab(
        "up", LINE, "--runtime", "process", "--no-spark", "--no-report", "--for", "5min", "--out", out, *options
    )
    assert done.returncode == ExitCode.CORRECT, done.stdout
    (run,) = (run for run in held_runs() if run.directory.is_relative_to(out))
    return run


def is_sleeping(run_id: str) -> bool:
    """True while a process of the run is `sleep`."""
    for process in processes_of_run(run_id):
        with suppress(OSError):  # it has ended meanwhile
            if Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n":
                return True
    return False


@pytest.mark.proof
@pytest.mark.container
@pytest.mark.timeout(900)  # a dozen commands, each of which takes half a minute on a busy host
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("docker") is None or shutil.which("mnexec") is None,
    reason="needs root, Docker and Mininet",
)
def test_one_of_two_runs_is_killed_and_the_other_goes_on(tmp_path: Path) -> None:
    first, second = up(tmp_path / "first"), up(tmp_path / "second")
    assert os.getsid(first.supervisor) == first.supervisor, "a closed terminal ends its own session"
    assert {first.run_id, second.run_id} <= {run.run_id for run in held_runs()}
    assert "choose with --run" in brokerlab("fault", "kill", "B2").stdout
    assert brokerlab("fault", "kill", "B2", "--run", first.run_id).stdout.strip() == "kill B2"
    killed = identify(first.supervisor)
    assert killed is not None
    killed.kill(signal.SIGKILL)
    assert not await_end([killed], 10)
    with pytest.raises(BadInputError, match="the supervisor of one was killed"):
        held_run(first.run_id)  # at once, because whichever run begins next cleans
    assert brokerlab("clean").returncode == ExitCode.CORRECT
    assert not list(processes_of_run(first.run_id))
    assert not (RUNS / first.run_id).exists()
    assert all(broker.process for broker in second.status().brokers), "the other run has lost nothing"
    assert "brokers  3 of 3 run" in brokerlab("status", "--run", second.run_id).stdout
    with subprocess.Popen(
        [sys.executable, "-m", "command_line", "exec", "--run", second.run_id, "B3", "--", "sleep", "1000"], cwd=ROOT
    ) as inside:
        await_true(lambda: is_sleeping(second.run_id), "the command runs at the broker", 60)
        ended = brokerlab("down", "--run", second.run_id)
        assert inside.wait(30) == 128 + signal.SIGKILL, "it ends with the run"
    assert "the held run ends: its holder asked for it" in ended.stdout
    assert "delivery:" in ended.stdout
    assert not list(processes_of_run(second.run_id))
    assert (second.directory / CONSOLE).read_text().endswith(f"run directory: {second.directory}\n")
    saved = brokerlab("save", second.directory, "-o", tmp_path / "again.yaml")
    assert saved.returncode == ExitCode.CORRECT, saved.stdout
    assert brokerlab("check", tmp_path / "again.yaml").returncode == ExitCode.CORRECT


@pytest.mark.proof
@pytest.mark.container
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("docker") is None or shutil.which("mnexec") is None,
    reason="needs root, Docker and Mininet",
)
def test_a_run_ends_by_itself_at_its_log_quota(tmp_path: Path) -> None:
    run = up(tmp_path, "--log-quota", "30kB")
    supervisor = identify(run.supervisor)
    assert not await_end([] if supervisor is None else [supervisor], 120)
    said = (run.directory / CONSOLE).read_text()
    assert "the held run ends: its logs have reached their quota of 30kB" in said
    assert "delivery:" in said
