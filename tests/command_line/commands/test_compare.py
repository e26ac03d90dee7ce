"""`brokerlab compare`, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line.program import app
from record.errors import BadInputError
from tests.analysis.compare.made_up import make_run, messages, variant


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    made = []
    for name, delay in (("one", 10.0), ("two", 11.0)):
        variants = [variant("base", rows=[messages("B1", received=1000)], operations=5, published=100)]
        made.append(str(make_run(tmp_path / name, variants, {"base": [delay] * 100})))
    return made


def test_tables_name_every_quantity(runs: list[str]) -> None:
    result = CliRunner().invoke(app, ["compare", *runs])
    assert result.exit_code == 0
    for text in (
        "base", "delay mean, ms", "10.00 [10.00, 10.00]", "+10.0% [+10.0%, +10.0%]", "messages received", "1,000",
        "matching operations", "published",
    ):  # fmt: skip
        assert text in result.output


def test_json_is_the_comparison(runs: list[str]) -> None:
    result = CliRunner().invoke(app, ["compare", *runs, "--json"])
    found = json.loads(result.output)
    assert found["second"]["run_id"] == "two"
    assert found["variants"][0]["delay"]["statistics"][0]["difference"]["value"] == pytest.approx(0.1)


@pytest.mark.parametrize(("limit", "code"), [("delay=15%,messages=2%", 0), ("delay=5%", 1)])
def test_limits_decide_the_exit_code(runs: list[str], limit: str, code: int) -> None:
    result = CliRunner().invoke(app, ["compare", *runs, "--within", limit])
    assert result.exit_code == code
    assert ("delay differs by +10.0%, more than 5%" in result.output) == bool(code)


def test_a_mistaken_limit_and_a_missing_run_are_told(runs: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["compare", *runs, "--within", "speed=5%"])
    assert isinstance(result.exception, BadInputError)
    assert "--within speed=5%: 'speed=5%': write NAME=SHARE" in str(result.exception)
    result = CliRunner().invoke(app, ["compare", runs[0], str(tmp_path / "none")])
    assert isinstance(result.exception, BadInputError)
    assert "no such run directory" in str(result.exception)
