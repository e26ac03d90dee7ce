"""Cells on Spark's executors: the same result as in a process of this host, whatever files the executor has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.claims import Claim, ClaimKind, Recipe
from record.exit_codes import ExitCode
from scenario.yaml_files.source import as_yaml
from studies.reproduction import Cell, CellFailure, CellWork, ResultStore, plan_experiments, spark
from studies.reproduction.cell import measure_cell, simulation_of
from studies.spark_jobs import decisive_versions
from tests.studies.no_spark import NoSpark
from tests.studies.reproduction.tiny import TINY

SCENARIO = f"{TINY}vary: {{topology.brokers: [4, 3], routing.publications: [fixed, dynamic]}}\n"
CLAIM = Claim(
    id="x", paper="tid", kind=ClaimKind.PROPERTY, what="x",
    measured_by=Recipe(scenario="tiny.yaml", measure="received twice"),
)  # fmt: skip


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    (tmp_path / "tiny.yaml").write_text(SCENARIO)
    (experiment,) = plan_experiments([CLAIM], 1, tmp_path, {"timeline.run": "3s"})
    return Cell(experiment, 1)


@contextmanager
def no_executors(master: str, name: str) -> Iterator[NoSpark]:
    yield NoSpark()


def test_an_executor_measures_the_same_without_the_scenarios_file(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = measure_cell(cell, cell.scenario(), "simulated", tmp_path / "here", simulation_of(cell.experiment))
    assert here.measurements["x"].checked > 0
    store = ResultStore(tmp_path / "out", "simulated")
    monkeypatch.setattr(spark, "open_executors", no_executors)
    monkeypatch.setattr(spark, "executor_directory", lambda: None)
    (done,) = spark.cells_on_spark("local[1]", [CellWork(cell, store, keep_runs=False)])
    there = store.read(done.cell)
    assert there is not None
    assert (there.measurements, there.delivery) == (here.measurements, here.delivery)
    assert sorted(path.name for path in store.directory.rglob("*")) == ["cells", "tiny-1.json"]


def test_a_cell_that_cannot_run_is_stored_as_failed(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "open_executors", no_executors)
    monkeypatch.setattr(spark, "executor_directory", lambda: None)
    store = ResultStore(tmp_path / "out", "simulated")
    unusable = Cell(replace(cell.experiment, overrides={"routing.protocol": "none"}), 2)
    work = [CellWork(unusable, store, keep_runs=False), CellWork(cell, store, keep_runs=False)]
    assert list(spark.cells_on_spark("local[1]", work)) == work
    failed, good = (piece.failure for piece in work)
    assert failed is not None
    assert "--set routing.protocol=none" in failed.message
    assert good is None
    assert store.read(cell) is not None


def test_a_mistake_that_only_the_executor_finds_is_a_failure(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "executor_directory", lambda: None)
    broken = as_yaml({**cell.scenario().resolved(), "routing": {"protocol": "none"}})
    answer = spark._measure_on_executor(decisive_versions(), spark.CellRequest(cell, broken))
    assert isinstance(answer, CellFailure)
    assert answer.exit_code == ExitCode.BAD_INPUT
    assert answer.message.startswith("tiny-1:")
