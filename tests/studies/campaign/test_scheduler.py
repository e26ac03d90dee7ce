"""The choice of cells that are run again; every attempt is recorded."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from emulation.fidelity import thresholds
from record.fidelity import Check, Fidelity, FidelityVerdict, VariantFidelity, worst
from studies.campaign.attempt import Attempt, host_was_busy
from studies.campaign.cell import Cell
from studies.campaign.directory import CampaignDirectory
from studies.campaign.executors.interface import AttemptedCell
from studies.campaign.scheduler import record_attempts, unfinished_cells
from tests.studies.campaign.made_up import attempt, cell


class RecordingBoard:
    """A progress board that notes whether each attempt was final."""

    def __init__(self) -> None:
        self.finals: list[bool] = []

    def begin(self, cell: Cell, host: str) -> None:
        """Notes nothing."""

    def print_line(self, line: str) -> None:
        """Notes nothing."""

    def end(self, attempted: AttemptedCell, *, final: bool) -> None:
        self.finals.append(final)


@pytest.mark.parametrize(
    ("tries", "retries", "finals"),
    [
        ([("correct", "VALID", False)], 1, [True]),
        ([("correct", "INVALID", True), ("correct", "VALID", False)], 1, [False, True]),
        ([("correct", "INVALID", True), ("correct", "INVALID", True)], 1, [False, True]),
        ([("correct", "INVALID", True)], 0, [True]),
        ([("correct", "INVALID", False)], 1, [True]),  # the host was not to blame
        ([("lost", "INVALID", True)], 3, [True]),  # a finding, which no further try makes undone
    ],
)
def test_tries(tmp_path: Path, tries: list[tuple[str, str, bool]], retries: int, finals: list[bool]) -> None:
    directory, mine, board = CampaignDirectory(tmp_path), cell(), RecordingBoard()
    attempts = [attempt(mine, delivery, fidelity, busy=busy) for delivery, fidelity, busy in tries]

    def run(cells: Sequence[Cell]) -> Generator[AttemptedCell, None, None]:
        assert list(cells) == [mine]
        yield from (AttemptedCell(mine, each) for each in attempts)

    record_attempts(directory, [mine], retries, run, board)
    assert board.finals == finals
    assert directory.attempts(mine) == attempts
    assert directory.result(mine) == attempts[-1].result
    assert unfinished_cells(directory, [mine]) == []


@pytest.mark.parametrize(
    ("tries", "counted"),
    [
        ([("correct", "DEGRADED"), ("correct", "INVALID")], 0),
        ([("correct", "INVALID"), ("correct", "DEGRADED"), ("correct", "DEGRADED")], 2),
        ([("correct", "DEGRADED"), ("lost", "INVALID")], 1),  # a finding is not tried away
    ],
)
def test_the_try_that_held_best_counts(tmp_path: Path, tries: list[tuple[str, str]], counted: int) -> None:
    directory, mine = CampaignDirectory(tmp_path), cell()
    attempts = [attempt(mine, delivery, fidelity, busy=True) for delivery, fidelity in tries]
    for each in attempts:
        directory.record(mine, each, final=each is attempts[-1])
    assert directory.result(mine) == attempts[counted].result


def test_tries_before_a_kill_count(tmp_path: Path) -> None:
    directory, mine, board = CampaignDirectory(tmp_path), cell(), RecordingBoard()
    busy: Attempt = attempt(mine, fidelity="INVALID", busy=True)
    directory.record(mine, busy, final=False)

    def run(cells: Sequence[Cell]) -> Generator[AttemptedCell, None, None]:
        yield AttemptedCell(mine, busy)

    record_attempts(directory, [mine], 1, run, board)
    assert board.finals == [True]
    assert len(directory.attempts(mine)) == 2


@pytest.mark.parametrize(
    ("checks", "busy"),
    [
        ([(thresholds.CPU_BUSY.name, FidelityVerdict.INVALID)], True),
        (
            [
                (thresholds.LINKS_DURING.name, FidelityVerdict.INVALID),
                (thresholds.CPU_PRESSURE.name, FidelityVerdict.DEGRADED),
            ],
            True,
        ),
        ([(thresholds.RELAY_HELD_UP.name, FidelityVerdict.DEGRADED)], True),
        (
            [
                (thresholds.LINKS_BEFORE.name, FidelityVerdict.INVALID),
                (thresholds.CPU_PRESSURE.name, FidelityVerdict.VALID),
            ],
            False,
        ),
        ([(thresholds.LOG_LOSS.name, FidelityVerdict.INVALID)], False),
    ],
)
def test_whose_fault_it_is(checks: list[tuple[str, FidelityVerdict]], busy: bool) -> None:
    verdict = worst(each for _, each in checks)
    made = [Check(name=name, value=1.0, unit="", limit=None, verdict=each, detail="") for name, each in checks]
    variant = VariantFidelity(name="base", verdict=verdict, checks=made, links=[])
    assert host_was_busy(Fidelity(verdict=verdict, variants=[variant])) is busy
