"""`brokerlab emulate --twin`, and `analyze` of a run that has a twin, as a user meets them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from analysis.engines import PlainEngine
from analysis.report import build_report
from analysis.tables.event_choice import EventTable
from command_line.commands import twin as commands
from command_line.commands.twin import make_twin
from command_line.program import app
from emulation.planning.calibration import load_calibration
from emulation.simulation.twin import twin_plan
from record.errors import BadInputError, RunDirectoryError
from record.files import LOGS, MANIFEST, SUMMARY, TWIN, TWIN_COMPARISON
from tests.analysis.compare.pairs import planned, real_run

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run whose twin was made, and what that printed."""
    asked = planned(run="1s")
    run = real_run(asked, tmp_path_factory.mktemp("runs"))
    console = Console(highlight=False, width=120, record=True)
    assert make_twin(twin_plan(asked), run, PlainEngine(), EventTable.NONE, console, calibration=load_calibration())
    return run, console.export_text()


def test_both_are_shown_side_by_side(made: tuple[Path, str]) -> None:
    run, printed = made
    for text in (
        "base beside its simulated twin", "twin    process  difference", "delay p99, ms", "links, ms",
        "messages received", "delivered", "from the twin to real brokers", "left over", f"twin: {run / TWIN}",
    ):  # fmt: skip
        assert text in printed
    assert json.loads((run / TWIN_COMPARISON).read_bytes())["first"]["simulated"]


def test_a_twin_with_forged_logs_is_named(made: tuple[Path, str], tmp_path: Path) -> None:
    """Links are as asked in virtual time; here all messages to B2 come 5 ms later than the link was through."""
    run = shutil.copytree(made[0], tmp_path / made[0].name)
    log = run / TWIN / LOGS / "B2.jsonl"
    records = [json.loads(line) for line in log.read_bytes().splitlines()]
    for record in records:
        if "arrived" in record:
            record["arrived"] += 5_000_000
            record["time"] += 5_000_000
    log.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    result = CliRunner().invoke(app, ["analyze", str(run), "--no-spark", "--events", "none"])
    assert "the twin is INVALID, so nothing follows from it" in result.output.replace("\n", " ")
    assert "so nothing follows from it" not in made[1]


def test_a_run_that_is_analysed_again_finds_its_twin(made: tuple[Path, str]) -> None:
    run, _ = made
    (run / TWIN_COMPARISON).unlink()
    (run / TWIN / SUMMARY).unlink()
    result = CliRunner().invoke(app, ["analyze", str(run), "--no-spark", "--events", "none"])
    assert "base beside its simulated twin" in result.output
    assert (run / TWIN_COMPARISON).exists()
    alone = CliRunner().invoke(app, ["analyze", str(run / TWIN), "--no-spark", "--events", "none"])
    assert alone.exit_code == 0
    assert "simulated twin" not in alone.output
    sides = CliRunner().invoke(app, ["compare", str(run / TWIN), str(run)])
    assert f"{run.name}/twin" in sides.output
    counted = CliRunner().invoke(app, ["query", str(run), str(run / TWIN), "SELECT DISTINCT run FROM notifications"])
    assert run.name in counted.output
    assert "twin" in counted.output


def test_the_page_has_a_section_on_both(made: tuple[Path, str], tmp_path: Path) -> None:
    run = shutil.copytree(made[0], tmp_path / made[0].name)
    page = build_report(run).read_text()
    section = page[page.index("<h2>Beside the simulated twin</h2>") : page.index("<h2>What was run</h2>")]
    for text in ("from the twin to real brokers", 'id="twin-0"', 'id="twin-1"', "<td>delay p95, ms</td>", "messages: "):
        assert text in section
    (run / TWIN_COMPARISON).unlink()
    assert "simulated twin" not in build_report(run).read_text()


def test_a_twin_of_another_seed_is_refused_after_the_runs_own_verdicts(made: tuple[Path, str], tmp_path: Path) -> None:
    run = shutil.copytree(made[0], tmp_path / made[0].name)
    manifest = json.loads((run / TWIN / MANIFEST).read_bytes())
    (run / TWIN / MANIFEST).write_text(json.dumps(manifest | {"seed": 4}))
    result = CliRunner().invoke(app, ["analyze", str(run), "--no-spark", "--events", "none"])
    assert "delivery: correct" in result.output
    assert isinstance(result.exception, RunDirectoryError)
    assert "its seed is 4, and the run's is 3; remove it" in str(result.exception)


def test_an_interrupt_while_the_twin_is_analysed_leaves_the_run_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = planned(run="1s")
    run = real_run(asked, tmp_path)
    files = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "analyze", interrupted)
    console = Console(highlight=False, width=120, record=True)
    assert not make_twin(twin_plan(asked), run, PlainEngine(), EventTable.NONE, console, calibration=load_calibration())
    assert "twin interrupted and removed; the results of the run itself are complete" in console.export_text()
    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == files


def test_a_simulated_run_has_no_twin(tmp_path: Path) -> None:
    scenario = str(ROOT / "scenarios" / "smoke.yaml")
    asked = ["emulate", scenario, "--runtime", "simulated", "--no-spark", "--twin", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, asked)
    assert isinstance(result.exception, BadInputError)
    assert "--twin: this run is simulated itself; leave --twin out" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
