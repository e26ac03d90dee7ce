"""`brokerlab runs` lists verdicts, age and size; `brokerlab open` finds the report; commands take short names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from command_line.commands.open import open_run
from command_line.commands.runs import age_in_words, as_json, as_table, list_runs, size_in_words
from command_line.options.shared import stored_run
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.errors import BadInputError
from scenario.loading import load
from scenario.shipped import file_of


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an analysed run, an unanalysed one, and one of which nothing can be read."""
    directory = tmp_path_factory.mktemp("lab") / "runs"
    scenario = load(file_of(Path("line-3"), "scenario"))
    analyze(simulate(make_plan(scenario), directory).directory, PlainEngine())
    simulate(make_plan(scenario), directory)
    (directory / "broken").mkdir()
    (directory / "broken" / "manifest.json").write_text("{")
    return directory


def test_every_run_has_a_row_with_its_verdicts(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_runs(runs, as_json)
    rows = json.loads(capsys.readouterr().out)
    verdicts = [(row["delivery"], row["fidelity"]) for row in rows]
    assert sorted(verdicts) == [("correct", "VALID"), ("not analysed", ""), ("unreadable", "")]
    (analysed,) = [row for row in rows if row["delivery"] == "correct"]
    assert (analysed["scenario"], analysed["runtime"]) == ("line-3", "simulated")
    size = sum(file.stat().st_size for file in (runs / analysed["run"]).rglob("*") if file.is_file())
    assert analysed["bytes"] == size
    list_runs(runs, as_table)
    table = capsys.readouterr().out
    assert all(row["run"] in table for row in rows)


def test_without_runs_the_list_says_how_to_make_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_runs(tmp_path, as_table)
    assert "brokerlab emulate" in capsys.readouterr().out


def test_commands_take_short_names(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs.parent)
    assert stored_run("line-3").is_dir()
    assert stored_run("runs/other") == Path("runs/other")


def test_the_report_is_shown_in_the_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    with pytest.raises(BadInputError, match="brokerlab runs"):
        open_run(tmp_path / "none")
    with pytest.raises(BadInputError, match="brokerlab report"):
        open_run(tmp_path)
    page = tmp_path / "report" / "index.html"
    page.parent.mkdir()
    page.touch()
    open_run(tmp_path)
    assert shown == [page.as_uri()]
    assert capsys.readouterr().out == f"{page}\n"


@pytest.mark.parametrize(
    ("seconds", "words"), [(-3, "0 s"), (59.9, "59 s"), (60, "1 min"), (7_199, "1 h"), (86_400 * 12, "12 d")]
)
def test_an_age_is_in_its_largest_unit(seconds: float, words: str) -> None:
    assert age_in_words(seconds) == words


def test_sizes_are_in_bytes_that_disks_are_sold_by() -> None:
    assert [size_in_words(size) for size in (0, 1_234_567, 999_999_999, 2_500_000_000)] == [
        "0.0 MB", "1.2 MB", "1000.0 MB", "2.5 GB",
    ]  # fmt: skip
