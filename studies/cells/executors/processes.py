"""Runs simulated cells on this host in parallel, each in a process of its own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console

from emulation.host.worker_processes import WorkerProcesses, WorkFailure
from emulation.runtimes.ladder import SIMULATED
from studies.cells.attempt import CellFailure, CellRequest, Keep
from studies.cells.cell import AnyCell
from studies.cells.execution import run_cell
from studies.cells.executors.interface import AttemptedCell, Executor
from studies.cells.store import RUNS, AnyStore


@dataclass(frozen=True, slots=True)
class _CellWork:
    """A cell, and the directory in which its process leaves the attempt and the run directory."""

    request: CellRequest
    directory: Path

    def __str__(self) -> str:
        return f"cell {self.request.cell.key}"

    @property
    def attempt(self) -> Path:
        return self.directory / "attempt.json"

    @property
    def failure(self) -> Path:
        return self.directory / "failure.json"


def process_executor(store: AnyStore, keep: Keep, jobs: int) -> Executor:
    """Runs cells in the simulator, `jobs` of them at a time."""

    def run(cells: Sequence[AnyCell]) -> Generator[AttemptedCell, None, None]:
        processes = WorkerProcesses(
            _run_in_worker, jobs, preload=[__name__, *{type(cell).__module__ for cell in cells}]
        )
        works = (_CellWork(_request(cell, store, keep), store.new_work(cell)) for cell in cells)
        try:
            with closing(processes.outcomes(works)) as outcomes:
                for work, failure in outcomes:
                    yield _ended(work, failure, store)
        finally:
            store.tidy()  # all processes have ended by now

    return run


def _request(cell: AnyCell, store: AnyStore, keep: Keep) -> CellRequest:
    return CellRequest(study=str(store.path), command="", cell=cell, runtime=SIMULATED, keep=keep)


def _ended(work: _CellWork, failure: WorkFailure | None, store: AnyStore) -> AttemptedCell:
    cell = work.request.cell
    if failure is not None:
        told = work.failure.exists()
        reason = msgspec.json.decode(work.failure.read_bytes(), type=CellFailure) if told else CellFailure.of(failure)
        shutil.rmtree(work.directory)
        return AttemptedCell(cell, reason)
    attempt = store.decode_attempt(work.attempt.read_bytes())
    store.keep_run(cell, attempt, work.directory)
    shutil.rmtree(work.directory)
    return AttemptedCell(cell, attempt)


def _run_in_worker(work: _CellWork) -> None:
    """Runs in the worker process, whose exit code tells of a failure."""
    try:
        attempt = run_cell(work.request, work.directory / RUNS, Console(stderr=True))
    except Exception as error:
        failure = CellFailure.of(error)
        work.failure.write_bytes(msgspec.json.encode(failure))
        sys.exit(failure.exit_code)
    work.attempt.write_bytes(msgspec.json.encode(attempt))
