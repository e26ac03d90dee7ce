"""Shells complete what the program has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line.completions import VARIABLE, campaign_names, claim_names, protocol_names, run_names, scenario_names

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
