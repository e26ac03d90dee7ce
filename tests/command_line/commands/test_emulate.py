"""Requests that `brokerlab emulate` refuses before it runs anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line.program import app
from record.errors import BadInputError

ROOT = Path(__file__).resolve().parents[3]


def test_real_brokers_run_at_no_other_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = str(ROOT / "scenarios" / "smoke.yaml")
    monkeypatch.setattr("command_line.commands.emulate.choose", lambda *_: object())
    asked = ["emulate", scenario, "--no-spark", "--speed", "2", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, asked)
    assert isinstance(result.exception, BadInputError)
    assert "--speed: real brokers run in real time" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
