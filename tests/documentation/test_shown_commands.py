"""Every line that a page shows to be pasted is executed by a test, or says why not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line.program import app
from tests.documentation.markdown import ROOT, Command
from tests.documentation.shown_commands import RULES, SHOWN, ExecutedBy, ExecutedHere, ShownLine, rule_of

EXAMPLE_RUN = "runs/20260131T235959Z-quickstart-1a2b"
"""The run that pages speak of."""
MATRIX = "rtt_ms,tokyo,paris,sydney\ntokyo,,220,110\nparis,221,,280\nsydney,110,279,\n"
MOVING = """
name: moving
topology: {kind: ring, brokers: 8}
routing: {protocol: semi-probabilistic}
motion: {kind: script, changes: [{at: 1s, vanish: [B1, B2]}, {at: 1100ms, appear: [B1, B5]}]}
workload: {publications: {source: stocks, publishers: 1, rate: 1/s}}
timeline: {join: 1s, run: 40s}
"""
SHORT = ("--set", "timeline.run=3s")
HERE = [shown for shown in SHOWN if (rule := rule_of(shown)) is not None and isinstance(rule.fate, ExecutedHere)]


def test_each_line_is_executed_or_says_why_not() -> None:
    assert [str(shown) for shown in SHOWN if rule_of(shown) is None] == []
    assert len(SHOWN) > 150 and len(HERE) > 15


def test_each_rule_is_about_some_line() -> None:
    used = {rule_of(shown) for shown in SHOWN}
    assert [rule for rule in RULES if rule not in used] == []


def test_tests_that_execute_lines_say_their_commands_and_options() -> None:
    by_tests = [(shown, rule.fate) for shown in SHOWN if (rule := rule_of(shown)) and isinstance(rule.fate, ExecutedBy)]
    assert {str(shown): words for shown, fate in by_tests if (words := fate.unspoken(shown))} == {}


def test_a_test_that_runs_another_command_or_no_such_option_is_found() -> None:
    check = ExecutedBy("tests/command_line/commands/test_check.py")
    for line, unspoken in (("check f.yaml --unheard", ["--unheard"]), ("unheard f.yaml", ["unheard"])):
        assert check.unspoken(ShownLine("docs/fidelity.md", f"brokerlab {line}")) == unspoken
    with pytest.raises(FileNotFoundError):
        ExecutedBy("tests/documentation/test_unheard.py").unspoken(ShownLine("README.md", "brokerlab runs"))


def test_a_line_of_no_rule_is_found() -> None:
    assert rule_of(ShownLine("docs/topologies.md", "brokerlab unheard-of")) is None
    assert rule_of(ShownLine("docs/installing.md", "rm -r lab")) is None


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with what pages speak of: shipped files, two runs, a matrix, and a scenario that moves."""
    directory = tmp_path_factory.mktemp("reader")
    for name in ("scenarios", "campaigns", "tests", ".ci"):
        (directory / name).symlink_to(ROOT / name)
    (directory / "latencies.csv").write_text(MATRIX)
    (directory / "moving.yaml").write_text(MOVING)
    before = Path.cwd()
    os.chdir(directory)
    try:
        for seed in "12":
            given = "emulate scenarios/line-3.yaml --runtime simulated --no-spark --no-report --seed"
            carried_out([*given.split(), seed, *SHORT])
        first = sorted(path for path in Path("runs").iterdir() if not path.name.startswith("."))[0]
        Path(EXAMPLE_RUN).symlink_to(first.name)
        yield directory
    finally:
        os.chdir(before)


def carried_out(words: list[str]) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{words}: {result.exit_code} {result.output} {result.exception}"


@pytest.mark.proof
def test_lines_do_what_they_are_shown_for(place: Path) -> None:
    """One after the other, in the order of the pages, because some need what others made."""
    for shown in HERE:
        words = Command(shown.page, f"{shown.line} ").words[1:]
        latest = sorted(path for path in (place / "runs").glob("2*") if not path.is_symlink())[-words.count("RUN") :]
        words = [str(latest.pop(0)) if word == "RUN" else word for word in words]
        if words[0] == "emulate":
            words += SHORT
        carried_out(words)
