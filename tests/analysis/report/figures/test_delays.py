"""Figures of delays show the numbers of their tables."""

from __future__ import annotations

from analysis.report.figures.delays import SPREAD_OF_VARIANTS_AT_MOST, delay_over_time_figure, distribution_figure
from analysis.report.percentiles import Percentiles
from analysis.tables.delays import DelayDistribution, DelayOverTime
from analysis.tables.timeline import PhaseTimes


def test_distribution_steps_at_the_classes_and_ends_where_nothing_is_slower() -> None:
    rows = [
        DelayDistribution(variant="fixed", lower_ms=1.0, upper_ms=2.0, notifications=1),
        DelayDistribution(variant="fixed", lower_ms=4.0, upper_ms=8.0, notifications=3),
    ]
    (trace,) = distribution_figure(rows, ["fixed", "dynamic"]).data
    assert list(zip(trace.x, trace.y, strict=True)) == [(1.0, 100.0), (2.0, 75.0), (4.0, 75.0)]


def test_the_tail_is_on_a_log_axis_and_exact_percentiles_are_marked() -> None:
    rows = [
        DelayDistribution(variant="fixed", lower_ms=1.0, upper_ms=2.0, notifications=999),
        DelayDistribution(variant="fixed", lower_ms=64.0, upper_ms=80.0, notifications=1),
    ]
    found = Percentiles("fixed", 1000, {50.0: 1.5, 99.9: 1.75}, 70.0)
    figure = distribution_figure(rows, ["fixed"], [found])
    line, marks = figure.data
    assert figure.layout.yaxis.type == "log"
    assert line.y[-1] == 0.1
    assert list(zip(marks.x, marks.y, marks.customdata, strict=True)) == [(1.5, 50.0, "50%"), (1.75, 0.1, "99.9%")]


def test_delay_over_time_is_on_a_log_axis_and_marks_the_end_of_the_run() -> None:
    rows = [
        DelayOverTime(variant=variant, second=second, notifications=2, mean_ms=3, p50_ms=second + 1, p95_ms=9, max_ms=9)
        for variant in ("fixed", "dynamic")
        for second in (0, 1)
    ]
    phases = [PhaseTimes(variant="fixed", phase="run", start_ns=0, end_ns=0, start_s=0.0, end_s=30.0)]
    figure = delay_over_time_figure(rows, phases, ["fixed", "dynamic"])
    assert figure.layout.yaxis.type == "log"
    assert [trace.name for trace in figure.data] == [
        "fixed",
        "fixed, 95th percentile",
        "dynamic",
        "dynamic, 95th percentile",
    ]
    assert [trace.line.dash for trace in figure.data] == ["solid", "dot"] * 2
    assert list(figure.data[0].y) == [1, 2]
    assert figure.layout.shapes[0].x0 == 30.0


def test_of_many_variants_only_the_median_is_shown() -> None:
    names = [f"V{number}" for number in range(SPREAD_OF_VARIANTS_AT_MOST + 1)]
    rows = [
        DelayOverTime(variant=name, second=0, notifications=2, mean_ms=3, p50_ms=1, p95_ms=9, max_ms=9)
        for name in names
    ]
    assert [trace.name for trace in delay_over_time_figure(rows, [], names).data] == names


def test_a_line_goes_on_to_the_percentiles_in_its_last_class() -> None:
    """Classes are an eighth of an octave wide, so the slowest notifications are often in one."""
    rows = [DelayDistribution(variant="fixed", lower_ms=64.0, upper_ms=80.0, notifications=1000)]
    found = Percentiles("fixed", 1000, {50.0: 70.0, 99.0: 75.0, 99.9: 78.0}, 79.0)
    line, _ = distribution_figure(rows, ["fixed"], [found]).data
    assert list(zip(line.x, line.y, strict=True)) == [(64.0, 100.0), (70.0, 50.0), (75.0, 1.0), (78.0, 0.1)]
