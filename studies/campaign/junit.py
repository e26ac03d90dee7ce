"""A campaign's results as JUnit suites: one for each cell, with both verdicts on each variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from studies.campaign.cell import CampaignCell
from studies.campaign.result import CampaignResult
from studies.cells.attempt import Attempt, CellFailure
from studies.junit import JunitCase, JunitOutcome, JunitSuite
from studies.verdict_cases import Origin, Verdicts, verdict_suite


def suites_of(
    name: str,
    cells: Sequence[CampaignCell],
    counted: Mapping[str, Attempt[CampaignResult]],
    failed: Mapping[str, CellFailure],
    report: Path,
) -> list[JunitSuite]:
    """The suites in the order of the cells. A cell that was not run is a skipped case, one that failed an error.

    `counted` are the attempts that gave cells their results, by key; `report` is the campaign's page.
    """
    return [
        _suite(f"{name}: {cell.key}", counted[cell.key], report)
        if cell.key in counted
        else _without_result(f"{name}: {cell.key}", failed.get(cell.key))
        for cell in cells
    ]


def _without_result(name: str, failure: CellFailure | None) -> JunitSuite:
    kind = JunitOutcome.SKIPPED if failure is None else JunitOutcome.ERROR
    message = "not run yet" if failure is None else failure.message
    return JunitSuite(name, [JunitCase(name="run", class_name=name, kind=kind, message=message)])


def _suite(name: str, attempt: Attempt[CampaignResult], report: Path) -> JunitSuite:
    result = attempt.result
    origin = Origin(seed=result.seed, revision=attempt.git_revision, runtime=result.runtime, report=report)
    seconds = attempt.seconds / len(result.variants)  # an even share
    verdicts = [
        Verdicts(figures=variant, numbers=variant.in_words(), seconds=seconds, examples=variant.broker_defects or ())
        for variant in result.variants
    ]
    return verdict_suite(name, verdicts, origin)
