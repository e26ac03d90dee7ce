"""Runs simulated cells on this host in parallel, each in a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from emulation.host.worker_processes import WorkerProcesses, WorkFailure
from studies.cells.attempt import AnyAttempt, AnyRequest, AttemptedCell, CellFailure, CellOutcome, CellRequest, Keep
from studies.cells.cell import AnyCell
from studies.cells.execution import run_cell
from studies.cells.executors.interface import Executor
from studies.cells.store import RUNS, AnyStore


@dataclass(frozen=True, slots=True)
class _CellWork:
    """A cell, and the directory in which its process leaves the outcome and the run directory."""

    request: AnyRequest
    directory: Path

    def __str__(self) -> str:
        return f"cell {self.request.cell.key}"

    @property
    def outcome(self) -> Path:
        return self.directory / "outcome.msgpack"


def process_executor(store: AnyStore, keep: Keep, jobs: int) -> Executor:
    """Runs cells in the simulator, `jobs` of them at a time."""

    def run(cells: Sequence[AnyCell]) -> Generator[AttemptedCell, None, None]:
        processes = WorkerProcesses(
            _run_in_worker, jobs, preload=[__name__, *{type(cell).__module__ for cell in cells}]
        )
        works = (_CellWork(CellRequest.simulated(cell, keep), store.new_work(cell)) for cell in cells)
        try:
            with closing(processes.outcomes(works)) as outcomes:
                for work, failure in outcomes:
                    yield AttemptedCell(work.request.cell, _outcome(work, failure, store))
        finally:
            store.tidy()  # all processes have ended by now

    return run


def _outcome(work: _CellWork, failure: WorkFailure | None, store: AnyStore) -> AnyAttempt | CellFailure:
    if failure is None:
        outcome: AnyAttempt | CellFailure = CellOutcome.decode(work.outcome.read_bytes(), store.result_type).told
    else:
        outcome = CellFailure.of(failure)
    if not isinstance(outcome, CellFailure):
        store.keep_run(work.request.cell, outcome, work.directory)
    shutil.rmtree(work.directory)
    return outcome


def _run_in_worker(work: _CellWork) -> None:
    """Runs in the worker process."""
    try:
        outcome = CellOutcome(attempt=run_cell(work.request, work.directory / RUNS, Console(stderr=True)))
    except Exception as error:
        outcome = CellOutcome(failure=CellFailure.of(error))
    work.outcome.write_bytes(outcome.encode())
