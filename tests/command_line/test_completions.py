"""Shells complete what the program has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command

from command_line.completions import (
    VARIABLE,
    broker_names,
    campaign_names,
    claim_names,
    goal_names,
    held_names,
    host_names,
    link_names,
    log_names,
    protocol_names,
    run_names,
    scenario_names,
    target_names,
)
from command_line.program import app
from emulation.held import held_runs
from emulation.held.hold import Hold
from emulation.held.requests import BrokerPlace, LinkPlace, SitePlace, Status
from emulation.held.server import served, socket_of
from emulation.host.processes import boot_id, this_process
from emulation.host.registry import Owner

ROOT = Path(__file__).resolve().parents[2]


def completed(*words: str, directory: Path = ROOT) -> list[str]:
    """Words that bash is offered for the last of these."""
    asked = {VARIABLE: "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-c", "from command_line import main; main()"]
    environment = os.environ | asked | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=environment, check=True)
    return done.stdout.split()


def test_names_begin_with_what_is_written() -> None:
    assert scenario_names("quick") == ["quickstart"]
    assert campaign_names("smo") == ["smoke"]
    assert "tid" in protocol_names("t") and "cbf" not in protocol_names("t")
    assert claim_names("tid-5a") and all(name.startswith("tid-5a") for name in claim_names("tid-5a"))


def test_runs_are_the_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("20260101T000000Z-a-0001", "20260102T000000Z-b-0002"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "manifest.json").touch()
    assert run_names("") == ["latest", "20260102T000000Z-b-0002", "20260101T000000Z-a-0001"]
    assert run_names("20260101") == ["20260101T000000Z-a-0001"]


def test_bash_is_answered() -> None:
    assert {"emulate", "examples"} <= set(completed("brokerlab", "e"))
    assert "quickstart" in completed("brokerlab", "emulate", "quick")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_asks_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    from command_line.commands.completion import print_script

    print_script(shell)  # type: ignore[arg-type]
    assert VARIABLE in capsys.readouterr().out


def test_brokers_and_links_of_the_held_run_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_runs, "runs", lambda _: iter([("1-line", this_run), ("2-other", this_run)]))
    this_run = Owner("1-line", this_process(), boot_id(), str(tmp_path / "journal.jsonl"))
    monkeypatch.setattr(held_runs, "socket_of", lambda run: tmp_path / f"{run.name}.socket")
    with held(tmp_path / "1-line.socket", "B1", "B2"), held(tmp_path / "2-other.socket", "A-1"):
        assert held_names("") == ["1-line", "2-other"]
        asked = Context(get_command(app), info_name="brokerlab")
        assert broker_names(asked, "") == [], "several runs are held"
        asked.params["run"] = "line"
        assert broker_names(asked, "B") == ["B1", "B2"]
        assert link_names(asked, "B1-") == ["B1-B2"]
        assert target_names(asked, "") == ["B1", "B2", "B1-B2", "B2-B1"]
        assert host_names(asked, "") == ["berlin", "S1"]
        assert goal_names(asked, "") == ["B1", "B2", "berlin"]
        assert log_names(asked, "s") == ["subscribers"]
        asked.params["run"] = "nothing"
        assert target_names(asked, "") == log_names(asked, "") == []


@contextmanager
def held(path: Path, *brokers: str) -> Iterator[None]:
    """Serves the state of a run of a line of brokers on a socket."""
    hold = Hold(10, 1000)
    links = {
        broker: [LinkPlace(other) for other in brokers if abs(brokers.index(other) - brokers.index(broker)) == 1]
        for broker in brokers
    }
    places = [BrokerPlace(name=broker, links=links[broker]) for broker in brokers]
    sites = [SitePlace(name="berlin", broker=brokers[0], clients=["S1"])]
    hold.status = Status(phase="run", brokers=places, sites=sites)
    path.with_suffix("").mkdir()
    with served(hold, path.with_suffix("")):
        path.symlink_to(socket_of(path.with_suffix("")))
        yield


def test_bash_is_answered_without_a_held_run() -> None:
    assert completed("brokerlab", "heal", "--run", "no-such-run", "B") == []
