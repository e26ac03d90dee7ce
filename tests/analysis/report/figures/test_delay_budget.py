"""Stacked bars of the parts of delays."""

from __future__ import annotations

import pytest

from analysis.report.figures.delay_budget import bands, budget_figure, budget_over_time_figure
from analysis.tables.budget import Budget, BudgetOverTime, DelayParts


def parts(links: float, contention: float | None, unexplained: float = 0.0) -> DelayParts:
    return DelayParts(
        links_ms=links, waiting_for_links_ms=0.01, waiting_at_brokers_ms=0.0, work_ms=0.2, platform_ms=0.4,
        contention_ms=contention, unexplained_ms=unexplained, unexplained_absolute_ms=abs(unexplained),
    )  # fmt: skip


def row(lower: float, notifications: int, contention: float | None) -> Budget:
    found = parts(lower, contention)
    return Budget(variant="fixed", lower_ms=lower, upper_ms=2 * lower, notifications=notifications, parts=found)


BUDGET = [row(1.0, 60, 0.0), row(2.0, 38, 1.0), row(4.0, 2, 11.0)]


def test_classes_are_in_the_band_of_their_middle() -> None:
    found = {name: [row.lower_ms for row in rows] for name, rows in bands(BUDGET)}
    assert found == {"quickest half": [1.0], "to 90%": [2.0], "to 99%": [4.0]}


def test_a_bar_is_the_mean_over_the_notifications_of_its_band() -> None:
    figure = budget_figure(BUDGET, ["fixed"])
    contention = next(bar for bar in figure.data if bar.name == "contention")
    assert list(contention.x[1]) == ["all", "quickest half", "to 90%", "to 99%"]
    assert list(contention.y) == pytest.approx([0.6, 0.0, 1.0, 11.0])


def test_what_is_not_known_has_no_bar() -> None:
    figure = budget_figure([row(1.0, 60, None)], ["fixed"])
    assert list(next(bar for bar in figure.data if bar.name == "contention").y) == [None, None]


def test_bars_over_time_are_those_of_seconds() -> None:
    rows = [BudgetOverTime(variant="fixed", second=second, notifications=3, parts=parts(5, 1)) for second in (2, 3)]
    figure = budget_over_time_figure(rows)
    assert [list(bar.x) for bar in figure.data] == [[2, 3]] * 7
    assert figure.layout.barmode == "relative"


def test_the_line_says_what_is_not_known_and_the_sign_of_what_nothing_explains() -> None:
    assert parts(5.0, 0.3, -0.2).in_words() == (
        "5.7 ms: links 5.0, work 0.2, platform 0.4, contention 0.3, unexplained -0.2"
    )
    assert "contention not known, unexplained +12" in parts(5.0, None, 12.0).in_words()
    assert "unexplained 0.0" in parts(5.0, 0.3, -0.01).in_words()
