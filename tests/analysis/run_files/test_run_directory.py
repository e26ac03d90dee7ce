from __future__ import annotations

import errno
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.pipeline import run as analysis_run
from analysis.run_files.run_directory import open_run
from analysis.tables.summary import read_summary
from record.errors import HostError, RunDirectoryError
from record.fidelity import FidelityVerdict
from tests.analysis.history import joined, write_run


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", [joined("base")])


def test_a_run_is_read(directory: Path) -> None:
    run = open_run(directory)
    assert run.brokers == ("B1", "B2", "B3")
    assert [variant.name for variant in run.manifest.variants] == ["base"]
    assert run.fidelity is not None and run.fidelity.verdict is FidelityVerdict.VALID
    assert [file.name for file in run.log_files] == ["driver.jsonl"]


@pytest.mark.parametrize("missing", ["manifest.json", "topology.json"])
def test_a_directory_that_is_no_run_is_named(directory: Path, missing: str) -> None:
    (directory / missing).unlink()
    with pytest.raises(RunDirectoryError, match=f"not a run directory, it has no {missing}"):
        analyze(directory, PlainEngine())


def test_what_is_wrong_with_a_run_is_named(directory: Path) -> None:
    with pytest.raises(RunDirectoryError, match="no such run directory"):
        analyze(directory / "nowhere", PlainEngine())
    (directory / "manifest.json").write_text('{"format": 2, "run_id": 7, "variants": []}')
    with pytest.raises(RunDirectoryError, match=r"manifest\.json.*run_id"):
        analyze(directory, PlainEngine())
    (directory / "manifest.json").write_text('{"format": 2, "run_id": "x", "variants": []}')
    with pytest.raises(RunDirectoryError, match="none began"):
        analyze(directory, PlainEngine())


def test_a_run_without_logs_or_summary_says_so(directory: Path) -> None:
    with pytest.raises(RunDirectoryError, match="brokerlab analyze"):
        read_summary(directory)
    (directory / "logs" / "driver.jsonl").unlink()
    with pytest.raises(RunDirectoryError, match="no logs"):
        analyze(directory, PlainEngine())


def test_a_full_disk_is_one_line(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(analysis_run, "write_summary", full)
    with pytest.raises(HostError, match="no space left on the disk"):
        analyze(directory, PlainEngine())
