"""Several runs on one page: each keeps its verdicts, its names and its figures."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.page import render_several
from command_line.program import app
from record.errors import BadInputError
from record.files import MANIFEST
from tests.analysis.history import History, joined, write_run


def analysed(run: Path, *histories: History, scenario: str = "pair") -> Path:
    """An analysed run of a scenario."""
    write_run(run, list(histories))
    manifest = msgspec.json.decode((run / MANIFEST).read_bytes())
    manifest["scenario"] = {"name": scenario}
    manifest["run_id"] = f"20260131T000000Z-{scenario}-{run.name}"
    (run / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    analyze(run, PlainEngine())
    return run


def good(name: str) -> History:
    return joined(name).publish().notify(at=110.2)


@pytest.fixture
def right(tmp_path: Path) -> Path:
    return analysed(tmp_path / "1a2b", good("fixed"), good("dynamic"))


def page(*runs: Path) -> str:
    return render_several([read_report_data(run) for run in runs], runs[0].parent / "report.html")


def test_variants_of_the_same_name_are_called_after_their_runs(tmp_path: Path, right: Path) -> None:
    text = page(right, analysed(tmp_path / "3c4d", joined("fixed").publish(), good("dynamic")))
    assert "<h1>pair 1a2b, pair 3c4d</h1>" in text
    for name in ("pair 1a2b fixed", "pair 1a2b dynamic", "pair 3c4d fixed", "pair 3c4d dynamic"):
        assert f"<h3>{name}</h3>" in text
    assert text.count("What went wrong: ") == text.count("What went wrong: pair 3c4d fixed") > 0
    assert "pair 3c4d: Under fixed, " in text
    for run in ("1a2b", "3c4d"):
        assert f'<a href="{run}/manifest.json">' in text


def test_names_that_no_other_run_has_are_kept(tmp_path: Path, right: Path) -> None:
    text = page(right, analysed(tmp_path / "3c4d", good("base"), scenario="other"))
    assert "<h1>pair, other</h1>" in text
    for name in ("fixed", "dynamic", "other"):
        assert f"<h3>{name}</h3>" in text


def test_the_command_writes_one_page_and_refuses_a_run_that_is_named_twice(tmp_path: Path, right: Path) -> None:
    other = analysed(tmp_path / "3c4d", good("base"), scenario="other")
    made = CliRunner().invoke(app, ["report", str(right), str(other), "-o", str(tmp_path / "both.html")])
    assert made.exit_code == 0, made.output
    assert "<h1>pair, other</h1>" in (tmp_path / "both.html").read_text()
    refused = CliRunner().invoke(app, ["report", str(right), str(other), str(right)])
    assert isinstance(refused.exception, BadInputError)
    assert "is named twice" in str(refused.exception)
    unwritable = CliRunner().invoke(app, ["report", str(right), str(other), "-o", str(tmp_path / "none" / "page")])
    assert "--out" in str(unwritable.exception)
