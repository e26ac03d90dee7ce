"""Simulated cells on Spark: the same bytes as without it, also for the cells of an executor that was lost."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from analysis.engines.java import check_java
from record.errors import BadInputError, HostError
from record.exit_codes import ExitCode
from studies.campaign import CampaignCell, cells, load_campaign
from studies.campaign.directory import CampaignDirectory
from studies.cells.attempt import AnyAttempt, Attempt, CellFailure, Keep
from studies.cells.executors import spark
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.executors.spark_jobs import (
    WrongExecutorError,
    decisive_versions,
    refuse_other_versions,
    with_retries,
)
from tests.studies.campaign.made_up import CAMPAIGN, write_campaign
from tests.studies.cells.executors.no_spark import NoSpark
from tests.studies.cells.executors.sweeping import sweep_that_loses_its_workers
from tests.studies.cells.here import run_here


@pytest.fixture
def planned(tmp_path: Path) -> tuple[CampaignCell, ...]:
    """Four cells: one that is done when the executor is lost, two that are in progress, and one that waits."""
    file = write_campaign(tmp_path, CAMPAIGN.replace("1..2", "[1]"))
    return cells(load_campaign(file), file)


@pytest.fixture
def java() -> None:
    try:
        check_java()
    except HostError as error:
        pytest.skip(str(error))


@pytest.mark.proof
@pytest.mark.spark
@pytest.mark.usefixtures("java")
def test_cells_have_the_same_bytes_and_survive_their_executor(
    planned: tuple[CampaignCell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:  # Spark is once a process
        campaign = CampaignDirectory(tmp_path / "campaign")
        found = alone.submit(sweep_that_loses_its_workers, planned, campaign).result()
    assert found == {cell.key: run_here(cell, tmp_path / cell.key).encode() for cell in planned}
    assert list(scratch.glob("cell-*")) == []
    kept = campaign.path.glob("cells/*/runs/*/logs/B1.jsonl")
    assert sorted(log.parents[3].name for log in kept) == sorted(cell.key for cell in planned)
    assert not list(campaign.path.glob("cells/*/work-*"))


@contextmanager
def no_executors(master: str, name: str) -> Iterator[NoSpark]:
    yield NoSpark()


class Sweep:
    """Cells on a session of Spark that is this process."""

    def __init__(self, directory: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(spark, "open_executors", no_executors)
        self.printed: list[str] = []
        self._executor = spark.spark_executor("local[1]", CampaignDirectory(directory), keep, self.printed.append)

    def outcome(self, cell: CampaignCell) -> AnyAttempt | CellFailure:
        (attempted,) = self._executor([cell])
        assert attempted.cell == cell
        return attempted.attempt


@pytest.mark.parametrize("keep", list(Keep))
def test_run_directories_that_are_to_stay_are_brought(
    planned: tuple[CampaignCell, ...], tmp_path: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = Sweep(tmp_path / "campaign", keep, monkeypatch)
    attempt = sweep.outcome(planned[0])
    assert isinstance(attempt, Attempt)
    runs = list((tmp_path / "campaign").glob("cells/*/runs/*"))
    assert [run.name for run in runs] == ([attempt.run] if keep is Keep.ALL else [])
    assert all((run / "summary.json").exists() for run in runs)
    assert not sweep.printed


def test_a_run_directory_that_is_too_large_to_be_brought_is_told_of(
    planned: tuple[CampaignCell, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "LARGEST_RUN", 1000)
    sweep = Sweep(tmp_path / "campaign", Keep.ALL, monkeypatch)
    attempt = sweep.outcome(planned[0])
    assert isinstance(attempt, Attempt)
    assert attempt.run is None
    assert sweep.printed[0].startswith(f"{planned[0].key}: its run directory is not kept: ")
    assert not list((tmp_path / "campaign").glob("cells/*/runs"))


def test_a_cell_that_cannot_run_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep(tmp_path, Keep.NONE, monkeypatch)
    failure = sweep.outcome(CampaignCell(key="broken-1", schedule="none", seed=1, scenario='{"name": "broken"}'))
    assert isinstance(failure, CellFailure)
    assert failure.exit_code == ExitCode.BAD_INPUT
    assert "topology" in failure.message


def test_executors_with_other_packages_are_refused() -> None:
    refuse_other_versions(decisive_versions())
    with pytest.raises(WrongExecutorError, match=r"has numpy [\d.]+ where the driver has 0\.1"):
        refuse_other_versions((("numpy", "0.1"),))
    with pytest.raises(WrongExecutorError, match="has no-such-package none where the driver has 1"):
        refuse_other_versions((("no-such-package", "1"),))


@pytest.mark.parametrize(
    ("master", "repeating"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,7]", "local[2,7]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_local_masters_repeat_what_failed(master: str, repeating: str) -> None:
    assert with_retries(master) == repeating


def test_only_simulated_cells_go_to_spark() -> None:
    with pytest.raises(BadInputError, match="--runtime simulated"):
        ExecutorOptions(runtime="process", retries=0, keep=Keep.NONE, jobs=1, master="local[2]")
