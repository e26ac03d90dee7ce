"""The lines of a study's progress board, and the time left."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from record.exit_codes import ExitCode
from studies.cells.attempt import AttemptedCell, CellFailure
from studies.cells.board import ConsoleBoard, RemainingTime
from tests.studies.campaign.made_up import attempt, cell


class Board:
    """A board of three cells in a file, with a clock that the test moves."""

    def __init__(self) -> None:
        self.now, self.output = 0.0, io.StringIO()
        remaining = RemainingTime([cell(number) for number in (1, 2, 3)], 1)
        self.board = ConsoleBoard(
            Console(file=self.output, width=200), planned=3, done=0, remaining=remaining, clock=lambda: self.now
        )

    def end(self, number: int, *, final: bool = True) -> str:
        """Ends an attempt after 40 s of its own time; returns what the board printed."""
        before = len(self.output.getvalue())
        self.board.end(AttemptedCell(cell(number), attempt(cell(number))), final=final)
        return self.output.getvalue()[before:]


def test_a_host_may_begin_a_cell_before_the_end_of_its_last_one_is_told() -> None:
    shown = Board()
    shown.board.begin(cell(1), "here")
    shown.now = 40.0
    shown.board.begin(cell(2), "here")
    shown.now = 41.0
    line = "[1/3] kill-1 on here: kill B2: correct; VALID; recovered within 1.0 s (41 s, about 1 min 22 s left)\n"
    assert shown.end(1) == line


def test_so_may_the_next_try_at_the_same_cell() -> None:
    shown = Board()
    shown.board.begin(cell(1), "here")
    shown.now = 41.0
    shown.board.begin(cell(1), "here")
    assert "it is run again (40 s, about 2 min 00 s left)" in shown.end(1, final=False)


def test_a_cell_that_fails_has_a_line_with_the_reason() -> None:
    shown = Board()
    shown.board.end(AttemptedCell(cell(3), CellFailure(message="no room", exit_code=ExitCode.HOST)), final=True)
    assert shown.output.getvalue() == "[1/3] kill-3: FAILED: no room\n"
    assert "[2/3]" in shown.end(1)


def test_the_time_left_follows_the_costs_of_cells_and_the_pace_of_attempts() -> None:
    first, second, third, fourth = (
        replace(cell(number), cost=cost) for number, cost in enumerate((50.0, 20.0, 10.0, 20.0))
    )
    remaining = RemainingTime([first, second, third, fourth], in_parallel=2, pace=1.0)
    assert remaining.left == 50
    remaining.note(first, 100.0)
    remaining.end(first)
    assert remaining.left == pytest.approx(50)
    for done in (second, third):
        remaining.end(done)
    assert remaining.left == pytest.approx(40), "the last cell runs alone"
    assert remaining.in_words() == "about 40 s left"
    remaining.end(fourth)
    assert remaining.in_words() == ""
