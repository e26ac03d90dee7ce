"""The section on router work, in a run that measured it and in one that did not."""

from __future__ import annotations

import msgspec
import pytest

from analysis.report.figures.router_work import work_figure, work_of
from analysis.tables.broker_work import WorkFigures, WorkKind
from analysis.tables.summary import VariantSummary
from tests.analysis.report.empty_summaries import empty_variant


def figures(work: WorkKind, mean: float) -> WorkFigures:
    return WorkFigures(work=work, count=9, mean_us=mean, p50_us=2.0, p95_us=8.0, p99_us=50.0, max_us=60.0)


def variant(name: str, *work: WorkFigures) -> VariantSummary:
    return msgspec.structs.replace(empty_variant(name), router_work=list(work))


def test_a_row_reaches_from_the_median_to_the_99th_percentile_with_a_mark_at_the_mean() -> None:
    measured = variant("SPR", figures(WorkKind.MATCHING, 5.0), figures(WorkKind.PATH_SELECTION, 7.0))
    figure = work_figure([measured, variant("simulated")], WorkKind.PATH_SELECTION)
    assert [list(trace.x) for trace in figure.data] == [[2.0, 50.0], [2.0, 8.0], [7.0]]
    assert {tuple(trace.y) for trace in figure.data} == {("SPR", "SPR"), ("SPR",)}
    assert figure.layout.xaxis.type == "log"


def test_axes_of_all_kinds_of_work_are_equal_and_have_room_for_all() -> None:
    slow = msgspec.structs.replace(figures(WorkKind.PATH_SELECTION, 7.0), p99_us=5_000.0)
    measured = [variant("SPR", figures(WorkKind.MATCHING, 5.0)), variant("FR", slow)]
    matching, selection = (work_figure(measured, work).layout.xaxis.range for work in WorkKind)
    assert matching == selection
    assert 10 ** matching[0] < 2
    assert 10 ** matching[1] > 5_000
    assert work_figure(measured, WorkKind.MATCHING).layout.xaxis.dtick == 1, "labels at 2 and 5 would overlap"
    assert work_figure(measured[:1], WorkKind.MATCHING).layout.xaxis.dtick != 1


@pytest.mark.parametrize("work", WorkKind)
def test_a_variant_without_measurements_has_no_row(work: WorkKind) -> None:
    assert work_of(variant("simulated"), work) is None
    assert not work_figure([variant("simulated")], work).data
