"""The times on a campaign's progress board."""

from __future__ import annotations

import io

from rich.console import Console

from studies.campaign.executors.interface import AttemptedCell
from studies.campaign.progress import CellDuration, ConsoleBoard
from tests.studies.campaign.made_up import attempt, cell


def test_a_host_may_begin_a_cell_before_the_end_of_its_last_one_is_told() -> None:
    now, output = [0.0], io.StringIO()
    board = ConsoleBoard(
        Console(file=output, width=200), planned=3, done=0, cell_duration=CellDuration(0, 1), clock=lambda: now[0]
    )
    board.begin(cell(1), "here")
    now[0] = 40.0
    board.begin(cell(2), "here")
    now[0] = 41.0
    board.end(AttemptedCell(cell(1), attempt(cell(1))), final=True)
    assert "(41 s, about 1 min 22 s left)" in output.getvalue()


def test_so_may_the_next_try_at_the_same_cell() -> None:
    now, output = [0.0], io.StringIO()
    board = ConsoleBoard(
        Console(file=output, width=200), planned=3, done=0, cell_duration=CellDuration(0, 1), clock=lambda: now[0]
    )
    board.begin(cell(1), "here")
    now[0] = 41.0
    board.begin(cell(1), "here")
    board.end(AttemptedCell(cell(1), attempt(cell(1), fidelity="INVALID", busy=True)), final=False)
    assert "it is run again (40 s, about 2 min 00 s left)" in output.getvalue()
