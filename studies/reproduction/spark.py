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
from studies.reproduction.cell import SIMULATION, CellWork, measure_cell
from studies.reproduction.plan import Cell
from studies.reproduction.results import CellResult
from studies.spark_jobs import (
    Failure,
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
    """Simulates cells, as many at a time as the executors of the master have cores, and stores their results.

    Raises `UserError`s.
    """
    with open_executors(master, "brokerlab reproduce") as context:
        task = functools.partial(_measure_on_executor, decisive_versions())

        def run_cell(piece: CellWork) -> bytes:
            request = CellRequest(piece.cell, as_yaml(piece.cell.scenario().resolved()))
            reply = run_task(context, str(piece), task, request)
            if isinstance(reply, Failure):
                raise reply.error(piece)
            return reply

        with closing(run_jobs(context, run_cell, work)) as replies:
            for piece, reply in replies:
                piece.store.write(piece.cell, msgspec.json.decode(reply, type=CellResult))
                yield piece


def _measure_on_executor(versions: tuple[tuple[str, str], ...], request: CellRequest) -> bytes | Failure:
    """The encoded result of a cell, which runs in an executor's process."""
    refuse_other_versions(versions)
    with tempfile.TemporaryDirectory(prefix="brokerlab-cell-", dir=executor_directory()) as directory:
        try:
            scenario = load_text(request.scenario, request.cell.name)
            result = measure_cell(request.cell, scenario, SIMULATED, Path(directory), SIMULATION)
        except UserError as error:
            return Failure.of(error)
        return msgspec.json.encode(result)
