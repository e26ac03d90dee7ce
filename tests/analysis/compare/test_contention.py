"""Differences and leads that contention can explain are not shown as found."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from analysis.compare.contention import judged_delays, judged_order
from analysis.compare.model import (
    DelayComparison,
    DelayOrder,
    QuantileDistance,
    Statistic,
)
from analysis.tables.estimates import SampleEstimate
from analysis.tables.summary import Delay
from record.fidelity import FidelityVerdict
from record.figures import Figure, FigureVerdict
from tests.analysis.delays import MEASURED, delay
from tests.analysis.report.empty_summaries import empty_variant


def with_contention(milliseconds: float) -> Delay:
    """Delays with as much contention in each figure."""
    figures = [
        FigureVerdict(
            figure=figure, value_ms=MEASURED[figure], contention_ms=milliseconds, unexplained_ms=0.0,
            verdict=FidelityVerdict.VALID, counts=False,
        )
        for figure in Figure
    ]  # fmt: skip
    return replace(delay(None), figures=figures)


def compared(difference: float) -> DelayComparison:
    sure = SampleEstimate(difference, (difference / 2, 2 * difference))
    statistics = [
        Statistic(name=name, first=SampleEstimate(1.0), second=SampleEstimate(1.0), difference=sure) for name in Figure
    ]
    return DelayComparison(
        notifications=(9, 9), statistics=statistics, quantiles=QuantileDistance(mean=0.0, greatest=0.0, at=0.5)
    )


@pytest.mark.parametrize(
    ("contention", "verdicts"),
    [
        (0.0, ["VALID", "VALID", "VALID", "VALID"]),
        (1.0, ["DEGRADED", "DEGRADED", "VALID", "VALID"]),  # of 20, 16, 40 and 80 ms
        (10.0, ["INVALID", "INVALID", "INVALID", "DEGRADED"]),
    ],
)
def test_each_statistic_is_held_against_its_own_contention(contention: float, verdicts: list[str]) -> None:
    found = judged_delays(compared(0.5), with_contention(0.0), with_contention(contention))
    assert [None if one.judged is None else one.judged.verdict for one in found.statistics] == verdicts
    second = found.of("p99").second_judged
    assert second is not None
    assert second.contention_ms == contention


def test_contention_is_taken_from_the_figure_that_has_it() -> None:
    """Half of a second mean that is half longer: without contention it would be a quarter shorter than the first."""
    judged = judged_delays(compared(0.5), with_contention(0.0), with_contention(MEASURED[Figure.MEAN] / 2)).of("mean")
    assert judged.judged is not None
    assert judged.judged.without_contention == pytest.approx(-0.25)


def test_runs_of_an_older_analysis_have_no_verdict() -> None:
    found = judged_delays(compared(0.5), delay(None), with_contention(1.0))
    assert {one.judged for one in found.statistics} == {None}


@pytest.mark.parametrize(("contention", "winner"), [(0.0, "fast"), (1.0, "fast"), (10.0, None)])
def test_nobody_wins_by_the_contention_of_the_others(contention: float, winner: str | None) -> None:
    order = DelayOrder(by_delay=["fast", "slow"], lead=SampleEstimate(0.5, (0.4, 0.6)), winner="fast")
    delays = {"fast": with_contention(0.0), "slow": with_contention(contention)}
    variants = {name: replace(empty_variant(name), delay=found) for name, found in delays.items()}
    judged = judged_order(order, variants)
    assert judged.winner == winner
    assert judged.judged is not None
