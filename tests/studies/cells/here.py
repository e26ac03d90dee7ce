"""Runs a simulated cell in this process."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from studies.cells import Cell
from studies.cells.attempt import CellRequest, Keep
from studies.cells.cell import Result
from studies.cells.execution import run_cell


def run_here(cell: Cell[Result], directory: Path) -> Result:
    """The result of a cell, whose run directory stays in `directory`."""
    return run_cell(CellRequest.simulated(cell, Keep.ALL), directory, Console(stderr=True)).result  # type: ignore[return-value]
