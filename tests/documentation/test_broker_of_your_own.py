"""The checks that docs/broker-of-your-own.md shows, on a broker that keeps the contract."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line.program import app
from tests.documentation.markdown import ROOT, Command

PAGE = ROOT / "docs" / "broker-of-your-own.md"
LINES = re.findall(r"^brokerlab conformance --command .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


BEHAVIOUR = "brokerlab conformance --command ./broker --level 1 --row V-2"
"""Rows that find rest without counters, by canaries, which clients may get as well."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "line", [*(pytest.param(line, marks=pytest.mark.whole) for line in LINES),
             pytest.param(BEHAVIOUR, marks=pytest.mark.proof)],
)  # fmt: skip
def test_a_broker_that_keeps_the_contract_passes(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "broker"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m broker_service "$@"\n')
    program.chmod(0o755)
    done = CliRunner().invoke(app, [*Command(PAGE.name, line).words[1:], "--protocol", "tid"])
    assert done.exit_code == 0, done.output


def test_the_page_shows_a_check_of_each_extent() -> None:
    assert len(LINES) == 3
