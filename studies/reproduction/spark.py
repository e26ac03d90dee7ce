"""Cells on the executors of Spark: the cores of this host, or those of a cluster.

Executors need not share files with the reproduction: a cell goes there with its whole scenario, and its result comes
back. Run directories stay on the executor and are removed with the result, so that none can be kept.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from emulation.runtimes.ladder import SIMULATED
from record.errors import UserError
from scenario.loading import load_text
from scenario.yaml_files.source import as_yaml
from studies.reproduction.cell import CellWork, failure_of, measure_cell, simulation_of
from studies.reproduction.plan import Cell
from studies.reproduction.results import CellFailure, CellResult
from studies.spark_jobs import (
    decisive_versions,
    executor_directory,
    open_executors,
    refuse_other_versions,
    run_jobs,
    run_task,
)


@dataclass(frozen=True, slots=True)
class CellRequest:
    """A cell as an executor gets it."""

    cell: Cell
    scenario: str
    """The whole resolved scenario, with the seed, as YAML."""


def cells_on_spark(master: str, work: Sequence[CellWork]) -> Generator[CellWork, None, None]:
    """Simulates cells, as many at a time as the executors of the master have cores, and stores results and failures.

    Raises `HostError` where there is no Spark.
    """
    with open_executors(master, "brokerlab reproduce") as session:
        task = functools.partial(_measure_on_executor, decisive_versions())

        def run_cell(piece: CellWork) -> bytes | CellFailure:
            try:
                request = CellRequest(piece.cell, as_yaml(piece.cell.scenario().resolved()))
                return run_task(session, task, request)
            except Exception as error:
                return failure_of(error)

        with closing(run_jobs(session, run_cell, work)) as replies:
            for piece, reply in replies:
                if isinstance(reply, CellFailure):
                    piece.store.write_failure(piece.cell, reply)
                else:
                    piece.store.write(piece.cell, msgspec.json.decode(reply, type=CellResult))
                yield piece


def _measure_on_executor(versions: tuple[tuple[str, str], ...], request: CellRequest) -> bytes | CellFailure:
    """The encoded result of a cell, which runs in an executor's process, or the user's mistake in it.

    Other errors fail the task, which Spark repeats, because the executor may be to blame.
    """
    refuse_other_versions(versions)
    with tempfile.TemporaryDirectory(prefix="brokerlab-cell-", dir=executor_directory()) as directory:
        try:
            scenario = load_text(request.scenario, request.cell.name)
            run = simulation_of(request.cell.experiment)
            result = measure_cell(request.cell, scenario, SIMULATED, Path(directory), run)
        except UserError as error:
            return failure_of(error)
        return msgspec.json.encode(result)
