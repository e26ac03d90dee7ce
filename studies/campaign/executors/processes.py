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

from emulation.host.worker_processes import WorkerProcesses
from emulation.runtimes.ladder import SIMULATED
from record.errors import UserError
from studies.campaign.attempt import Attempt, CellRequest, Keep
from studies.campaign.cell import Cell
from studies.campaign.directory import RUNS, CampaignDirectory
from studies.campaign.execution import run_cell
from studies.campaign.executors.interface import AttemptedCell, Executor


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


def process_executor(directory: CampaignDirectory, keep: Keep, jobs: int) -> Executor:
    """Runs cells in the simulator, `jobs` of them at a time."""

    def run(cells: Sequence[Cell]) -> Generator[AttemptedCell, None, None]:
        processes = WorkerProcesses(_run_in_worker, jobs, preload=[__name__])
        works = (_CellWork(_request(cell, directory, keep), directory.new_work(cell)) for cell in cells)
        try:
            with closing(processes.run(works)) as done:
                for work in done:
                    cell = work.request.cell
                    attempt = msgspec.json.decode(work.attempt.read_bytes(), type=Attempt)
                    directory.keep_run(cell, attempt, work.directory)
                    shutil.rmtree(work.directory)
                    yield AttemptedCell(cell, attempt)
        finally:
            directory.tidy()  # all processes have ended by now

    return run


def _request(cell: Cell, directory: CampaignDirectory, keep: Keep) -> CellRequest:
    return CellRequest(campaign=str(directory.path), command="", cell=cell, runtime=SIMULATED, keep=keep)


def _run_in_worker(work: _CellWork) -> None:
    """Runs in the worker process. A user's mistake becomes its exit code, and a line on its standard error."""
    try:
        attempt = run_cell(work.request, work.directory / RUNS, Console(stderr=True))
    except UserError as error:
        sys.stderr.write(f"{work}: {error}\n")
        sys.exit(error.exit_code)
    work.attempt.write_bytes(msgspec.json.encode(attempt))
