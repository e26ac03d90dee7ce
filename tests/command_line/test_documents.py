"""Commands that print results print them as one JSON document, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from command_line.program import app
from tests.outside.flooding import written

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = {
    "baseline save": "writes a file for programs",
    "calibrate": "writes a file for programs",
    "capture": "writes a file for programs",
    "clean": "does something, and its exit code says whether it could",
    "completion": "prints a script",
    "down": "does something, and its exit code says whether it could",
    "exec": "prints what the program inside prints",
    "fault": "does something, and its exit code says whether it could",
    "heal": "does something, and its exit code says whether it could",
    "help": "is text for people",
    "hosts clean": "does something, and its exit code says whether it could",
    "hosts prepare": "does something; `hosts check` prints the result",
    "log": "prints records, each as JSON",
    "move": "does something, and its exit code says whether it could",
    "open": "shows a page",
    "protocol new": "writes files",
    "publish": "does something, and its exit code says whether it could",
    "query": "has --format, of which json is one",
    "replay": "shows a page",
    "report": "writes a page",
    "save": "writes a file for programs",
    "schema": "prints a JSON document",
    "speed": "does something, and `status` shows the state",
    "step": "does something, and `status` shows the state",
    "subscribe": "prints notifications as they come",
    "topology draw": "writes a drawing",
    "topology make": "prints a JSON document, or writes a file",
    "trace": "writes a file for programs",
    "until": "does something, and `status` shows the state",
    "up": "starts something that stays, and `status` shows it",
}
"""Commands without `--json`, each with the reason."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All commands by their names."""
    if not hasattr(command, "commands"):
        yield " ".join(path), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}


def test_each_command_prints_a_document_or_says_why_not() -> None:
    without = {name for name, command in COMMANDS.items() if "--json" not in options(command)}
    assert without - WITHOUT.keys() == set(), "these print results: give them --json, or a reason in WITHOUT"
    assert WITHOUT.keys() - without == set(), "these have --json, or are no commands"
    for name, command in COMMANDS.items():
        for parameter in command.params:
            if "--json" in parameter.opts:
                assert parameter.is_flag, f"{name}: --json takes no file; the shell's `>` does that"


@pytest.mark.parametrize(
    ("name", "other"),
    [("--hosts", "--inventory"), ("--master", "--spark-master"), ("--junit", "--xml"), ("--out", "--output")],
)
def test_one_thing_has_one_name(name: str, other: str) -> None:
    assert any(name in options(command) for command in COMMANDS.values())
    assert not [command for command, found in COMMANDS.items() if other in options(found)]


def document(*arguments: str | Path) -> Any:
    """The document that a command prints on its standard output, whatever is on the other."""
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return json.loads(result.stdout)


def test_what_a_run_shows_is_in_its_document(tmp_path: Path) -> None:
    quick = ("--runtime", "simulated", "--no-spark", "--no-report", "--out", tmp_path, "--set", "timeline.run=1s")
    (run,) = document("emulate", ROOT / "scenarios/line-3.yaml", *quick)["runs"]
    assert run["summary"] == json.loads((Path(run["run"]) / "summary.json").read_bytes())
    assert document("analyze", run["run"], "--no-spark") == run


def test_a_check_shows_its_prediction_in_its_document() -> None:
    found = document("check", ROOT / "scenarios/line-3.yaml", "--set", "timeline.run=1s")
    assert found["scenario"] == "line-3" and found["refused"] == ""
    assert [prediction["name"] for prediction in found["predictions"]] == found["variants"]


def test_a_campaign_lists_its_cells_in_a_document() -> None:
    assert "kill-1" in " ".join(document("campaign", ROOT / "campaigns/smoke.yaml", "--list"))


def test_cases_show_their_results_in_a_document() -> None:
    cases = ("conformance", ROOT / "tests/conformance/single-broker.json", "--protocol", "tid-fixed")
    results = document(*cases)["results"]
    assert len(results) > 5 and {result["verdict"] for result in results} == {"passed"}


def test_a_protocol_shows_its_failures_in_a_document(tmp_path: Path) -> None:
    protocol = written(tmp_path, "self._seen = set()", "self._seen = sett()")
    found = document("protocol", "check", protocol)
    assert "name 'sett' is not defined" in found["results"][-1]["defect"]


def test_what_a_router_prints_does_not_spoil_a_document(tmp_path: Path) -> None:
    protocol = written(tmp_path, "self._seen = set()", "self._seen = set(); print('{')")
    assert document("protocol", "check", protocol)["results"]


def test_topologies_are_in_documents() -> None:
    assert document("topology", "check", "line", "brokers=3") == {"source": "line", "findings": []}
    assert {"line", "ring"} <= document("topology", "kinds")["kinds"].keys()
    assert "brokers" in {field["field"] for field in document("topology", "kinds", "line")["fields"]}
