"""A campaign's results as JUnit suites: one for each cell, with both verdicts on each variant."""

from __future__ import annotations

from collections.abc import Sequence

from studies.campaign.cell import Cell
from studies.campaign.result import CellResult, VariantResult
from studies.junit import JunitCase, JunitOutcome, JunitSuite
from studies.verdict_cases import Verdicts, numbers_in_words, verdict_suite


def suites_of(name: str, cells: Sequence[Cell], results: Sequence[CellResult]) -> list[JunitSuite]:
    """The suites in the order of the cells. A cell that was not run is a skipped case."""
    by_key = {result.key: result for result in results}
    return [_suite(f"{name}: {cell.key}", by_key.get(cell.key)) for cell in cells]


def _suite(name: str, result: CellResult | None) -> JunitSuite:
    if result is None:
        return JunitSuite(
            name, [JunitCase(name="run", class_name=name, kind=JunitOutcome.SKIPPED, message="not run yet")]
        )
    return verdict_suite(name, map(_verdicts, result.variants))


def _verdicts(variant: VariantResult) -> Verdicts:
    return Verdicts(
        variant=variant.name,
        delivery=variant.delivery,
        numbers=numbers_in_words(
            published=variant.published, expected=variant.expected, delivered=variant.delivered, lost=variant.lost,
            duplicate=variant.duplicate, spurious=variant.spurious, reordered=variant.reordered,
        ),
        fidelity=variant.fidelity,
        reasons=variant.reasons,
    )  # fmt: skip
