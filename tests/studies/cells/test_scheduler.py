"""The choice of cells that are run again; every attempt is recorded."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from emulation.fidelity import thresholds
from record.exit_codes import ExitCode
from record.fidelity import Check, Fidelity, FidelityVerdict, ProcessorUse, VariantFidelity, worst
from studies.campaign.directory import CampaignDirectory
from studies.cells import AnyCell
from studies.cells.attempt import AttemptedCell, CellFailure, was_disturbed
from studies.cells.scheduler import record_attempts
from tests.studies.campaign.made_up import attempt, cell
from tests.studies.cells.recording_board import RecordingBoard


@pytest.mark.parametrize(
    ("tries", "retries", "finals"),
    [
        ([("correct", "VALID", False)], 1, [True]),
        ([("correct", "INVALID", True), ("correct", "VALID", False)], 1, [False, True]),
        ([("correct", "INVALID", True), ("correct", "INVALID", True)], 1, [False, True]),
        ([("correct", "VALID", True), ("correct", "INVALID", False)], 1, [False, True]),  # whatever was measured
        ([("correct", "INVALID", True)], 0, [True]),
        ([("correct", "INVALID", False)], 1, [True]),  # nothing from outside is to blame
        ([("lost", "INVALID", True)], 3, [True]),  # a finding, which no further try makes undone
    ],
)
def test_tries(tmp_path: Path, tries: list[tuple[str, str, bool]], retries: int, finals: list[bool]) -> None:
    directory, tried, board = CampaignDirectory(tmp_path), cell(), RecordingBoard()
    attempts = [attempt(tried, delivery, fidelity, busy=disturbed) for delivery, fidelity, disturbed in tries]

    def run(cells: Sequence[AnyCell]) -> Generator[AttemptedCell, None, None]:
        assert list(cells) == [tried]
        yield from (AttemptedCell(tried, attempt) for attempt in attempts)

    record_attempts(directory, [tried], retries, run, board)
    assert board.finals == finals
    assert directory.attempts(tried) == attempts
    assert directory.result(tried) == attempts[-1].result
    assert directory.unfinished([tried]) == []


@pytest.mark.parametrize(
    ("tries", "counted"),
    [
        ([("correct", "VALID", True), ("correct", "INVALID", False)], 1),  # no choice of the luckier one
        ([("correct", "INVALID", False), ("correct", "VALID", False)], 0),
        ([("correct", "VALID", True), ("correct", "INVALID", True)], 1),
        ([("correct", "DEGRADED", False), ("lost", "INVALID", True)], 1),  # a finding is not tried away
    ],
)
def test_the_first_try_that_nothing_disturbed_counts(
    tmp_path: Path, tries: list[tuple[str, str, bool]], counted: int
) -> None:
    directory, tried = CampaignDirectory(tmp_path), cell()
    attempts = [attempt(tried, delivery, fidelity, busy=disturbed) for delivery, fidelity, disturbed in tries]
    for made in attempts:
        directory.record(tried, made, final=made is attempts[-1])
    assert directory.result(tried) == attempts[counted].result


def test_tries_before_a_kill_count(tmp_path: Path) -> None:
    directory, tried, board = CampaignDirectory(tmp_path), cell(), RecordingBoard()
    disturbed = attempt(tried, fidelity="INVALID", busy=True)
    directory.record(tried, disturbed, final=False)

    def run(cells: Sequence[AnyCell]) -> Generator[AttemptedCell, None, None]:
        yield AttemptedCell(tried, disturbed)

    record_attempts(directory, [tried], 1, run, board)
    assert board.finals == [True]
    assert len(directory.attempts(tried)) == 2


def test_a_cell_that_fails_is_tried_again_by_the_next_command(tmp_path: Path) -> None:
    directory, board = CampaignDirectory(tmp_path), RecordingBoard()
    broken, good = cell(1), cell(2)
    failure = CellFailure(message="no room", exit_code=ExitCode.HOST)

    def fail_one(cells: Sequence[AnyCell]) -> Generator[AttemptedCell, None, None]:
        yield AttemptedCell(broken, failure)
        yield AttemptedCell(good, attempt(good))

    record_attempts(directory, [broken, good], 1, fail_one, board)
    assert directory.failures([broken, good]) == {broken.key: failure}
    assert directory.unfinished([broken, good]) == [broken]

    def succeed(cells: Sequence[AnyCell]) -> Generator[AttemptedCell, None, None]:
        yield AttemptedCell(broken, attempt(broken))

    record_attempts(directory, [broken], 1, succeed, board)
    assert directory.failures([broken, good]) == {}
    assert board.finals == [True, True, True]


@pytest.mark.parametrize(
    ("checks", "others", "disturbed"),
    [
        ([(thresholds.CPU_STEAL, FidelityVerdict.DEGRADED)], 0.0, True),
        ([(thresholds.RELAY_MISSED, FidelityVerdict.INVALID)], 0.0, True),
        ([(thresholds.CLOCK_DOMAIN, FidelityVerdict.INVALID)], 0.0, True),
        ([(thresholds.CPU_STEAL, FidelityVerdict.VALID)], 0.5, True),
        ([(thresholds.RELAY_HELD_UP, FidelityVerdict.INVALID)], 0.1, False),  # which the run itself may cause
        ([(thresholds.LINKS_BEFORE, FidelityVerdict.INVALID)], 0.0, False),
        ([(thresholds.LOG_LOSS, FidelityVerdict.INVALID)], 0.0, False),
    ],
)
def test_whose_fault_it_is(
    checks: list[tuple[thresholds.Threshold, FidelityVerdict]], others: float, disturbed: bool
) -> None:
    verdict = worst(verdict for _, verdict in checks)
    made = [
        Check(name=threshold.name, value=1.0, unit="", limit=None, verdict=verdict, detail="")
        for threshold, verdict in checks
    ]
    processors = ProcessorUse(busy=0.4 + others, own=0.4)
    variant = VariantFidelity(name="base", verdict=verdict, checks=made, links=[], processors=processors)
    assert was_disturbed(Fidelity(verdict=verdict, variants=[variant])) is disturbed
