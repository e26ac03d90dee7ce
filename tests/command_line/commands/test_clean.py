"""`brokerlab clean` says what it has removed, and ends with an error where something could not be."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from command_line.commands import clean
from command_line.program import app
from emulation.upkeep.clean import Cleaned
from record.exit_codes import ExitCode

LEFT = Cleaned(runs=["dead"], containers=["brokerlab-dead-B1", "brokerlab-dead-B2"], processes=[7])
STUCK = Cleaned(runs=["dead"], failures=["process 7 does not end"])


@pytest.mark.parametrize(
    ("cleaned", "said", "code"),
    [
        (Cleaned(), "nothing was left by earlier runs", ExitCode.CORRECT),
        (LEFT, "removed what 1 dead run left: 2 containers, 1 process", ExitCode.CORRECT),
        (STUCK, "could not be removed: process 7 does not end", ExitCode.HOST),
    ],
)
def test_what_was_removed_is_said(monkeypatch: pytest.MonkeyPatch, cleaned: Cleaned, said: str, code: ExitCode) -> None:
    docker, cleaning = Mock(), Mock(return_value=cleaned)
    monkeypatch.setattr(clean, "_docker", lambda: docker)
    monkeypatch.setattr(clean, "clean", cleaning)
    done = CliRunner().invoke(app, ["clean"])
    cleaning.assert_called_once_with(docker)
    assert said in done.output.splitlines()
    assert done.exit_code == code


def test_without_docker_it_says_that_containers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean, "_docker", lambda: None)
    monkeypatch.setattr(clean, "clean", Mock(return_value=Cleaned()))
    assert "Docker does not answer" in CliRunner().invoke(app, ["clean"]).output
