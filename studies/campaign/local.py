"""Simulated cells on this host, side by side, each in a process of its own."""

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
from studies.campaign.attempt import Attempt, Attempted, Keep, Order, RunCells
from studies.campaign.cell import Cell
from studies.campaign.directory import RUNS, CampaignDirectory
from studies.campaign.trial import try_cell


@dataclass(frozen=True, slots=True)
class _Piece:
    """A cell, and where its process leaves what came of it."""

    order: Order
    work: Path

    def __str__(self) -> str:
        return f"cell {self.order.cell.key}"

    @property
    def told(self) -> Path:
        return self.work / "attempt.json"


def simulated_cells(directory: CampaignDirectory, keep: Keep, jobs: int) -> RunCells:
    """Runs cells on the simulator, so many at a time."""

    def run(cells: Sequence[Cell]) -> Generator[Attempted, None, None]:
        processes = WorkerProcesses(_work, jobs, preload=[__name__])
        pieces = (_piece(cell, directory, keep) for cell in cells)
        with closing(processes.run(pieces)) as done:
            for piece in done:
                attempt = msgspec.json.decode(piece.told.read_bytes(), type=Attempt)
                directory.keep_run(piece.order.cell, attempt, piece.work)
                shutil.rmtree(piece.work)
                yield Attempted(piece.order.cell, attempt)

    return run


def _piece(cell: Cell, directory: CampaignDirectory, keep: Keep) -> _Piece:
    order = Order(campaign=str(directory.path), command="", cell=cell, runtime=SIMULATED, keep=keep)
    return _Piece(order, directory.new_work(cell))


def _work(piece: _Piece) -> None:
    """In the worker process, whose exit code tells of a user's mistake, said on its standard error."""
    try:
        attempt = try_cell(piece.order, piece.work / RUNS, Console(stderr=True))
    except UserError as error:
        sys.stderr.write(f"{piece}: {error}\n")
        sys.exit(error.exit_code)
    piece.told.write_bytes(msgspec.json.encode(attempt))
