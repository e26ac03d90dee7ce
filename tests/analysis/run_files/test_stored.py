"""A run by a short name: what is meant, and what is not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.run_files.stored import run_of, stored_runs
from record.errors import BadInputError

FIRST = "20260101T120000Z-quickstart-1a2b"
SECOND = "20260102T120000Z-quickstart-3c4d"
THIRD = "20260102T130000Z-kill-one-5e6f"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs and another directory, from which no path is relative to the working directory."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for name in (THIRD, FIRST, SECOND, "campaigns"):
        (tmp_path / name).mkdir()
    for name in (THIRD, FIRST, SECOND):
        (tmp_path / name / "manifest.json").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("latest", THIRD), ("quickstart", SECOND), ("kill-one", THIRD), ("1a2b", FIRST), ("20260101", FIRST),
        ("20260102T12", SECOND), (SECOND, SECOND), ("kill", None), ("2a2b", None), ("campaigns", None),
    ],
)  # fmt: skip
def test_a_short_name_means_one_run(runs: Path, given: str, meant: str | None) -> None:
    assert run_of(given, runs) == (None if meant is None else runs / meant)


def test_a_beginning_of_several_names_is_refused_with_the_names(runs: Path) -> None:
    with pytest.raises(BadInputError, match=f"2 runs in .* begin so: {SECOND}, {THIRD}; write more of the name"):
        run_of("20260102", runs)


def test_a_path_is_a_path(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)
    Path("latest").mkdir()
    assert run_of("latest", runs) == Path("latest")
    assert run_of(str(runs / FIRST), runs) == runs / FIRST


def test_runs_are_in_the_order_of_time(runs: Path) -> None:
    assert [run.name for run in stored_runs(runs)] == [FIRST, SECOND, THIRD]
    assert stored_runs(runs / "none") == []
    assert run_of("latest", runs / "none") is None
