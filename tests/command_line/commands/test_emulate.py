"""Requests that `brokerlab emulate` refuses before it runs anything, and signals that end it."""

from __future__ import annotations

import os
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from command_line.program import app
from emulation.run.context import RunContext
from record.errors import BadInputError
from record.files import SUMMARY
from record.manifest import PhaseName, VariantRecord

ROOT = Path(__file__).resolve().parents[3]
SMOKE = str(ROOT / "scenarios" / "smoke.yaml")


def test_real_brokers_run_at_no_other_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("command_line.commands.emulate.choose", lambda *_: object())
    result = CliRunner().invoke(app, ["emulate", SMOKE, "--no-spark", "--speed", "2", "--out", str(tmp_path)])
    assert isinstance(result.exception, BadInputError)
    assert "--speed: real brokers run in real time" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def asked_to_end(
    number: signal.Signals, during: PhaseName, out: Path, monkeypatch: pytest.MonkeyPatch, *more: str
) -> Result:
    """A simulated run that gets a signal at the begin of a phase."""
    begin = RunContext.phase

    def phase(
        self: RunContext, record: VariantRecord, name: PhaseName, seconds: float | None = None, activity: str = ""
    ) -> AbstractContextManager[None]:
        if name is during:
            os.kill(os.getpid(), number)
        return begin(self, record, name, seconds, activity)

    monkeypatch.setattr(RunContext, "phase", phase)
    return CliRunner().invoke(
        app, ["emulate", SMOKE, "--runtime", "simulated", "--no-spark", "--no-report", "--out", str(out), *more]
    )


@pytest.mark.parametrize("during", [PhaseName.RUN, PhaseName.DRAIN, PhaseName.STOP])
def test_no_analysis_follows_a_signal_of_a_program(
    during: PhaseName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = asked_to_end(signal.SIGTERM, during, tmp_path, monkeypatch)
    (run,) = tmp_path.iterdir()
    assert result.exit_code == 130, result.output
    assert f"ended in order, without an analysis of the logs so far: `brokerlab analyze {run}`" in result.output
    assert not (run / SUMMARY).exists()
    analysed = CliRunner().invoke(app, ["analyze", str(run), "--no-spark"])
    assert (run / SUMMARY).exists(), analysed.output


def test_an_analysis_follows_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = asked_to_end(signal.SIGINT, PhaseName.DRAIN, tmp_path, monkeypatch)
    (run,) = tmp_path.iterdir()
    assert result.exit_code == 130, result.output
    assert (run / SUMMARY).exists()


def test_nothing_is_analysed_where_nothing_was_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = asked_to_end(signal.SIGTERM, PhaseName.JOIN, tmp_path, monkeypatch, "--set", "timeline.join=100h")
    assert result.exit_code == 130, result.output
    assert "interrupted before anything was published, so there is nothing to analyse" in result.output
