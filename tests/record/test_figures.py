"""Figures and differences are judged by what of them is not the overlay's."""

from __future__ import annotations

import pytest

from record.fidelity import FidelityVerdict
from record.figures import LIMITS, Contention, Figure, FigureVerdict, judge_difference, judge_figure

VALID, DEGRADED, INVALID = FidelityVerdict


@pytest.mark.parametrize(
    ("figure", "contention", "unexplained", "verdict"),
    [
        (Figure.MEAN, 10.0, 10.0, VALID),
        (Figure.MEAN, 10.1, 0.0, DEGRADED),
        (Figure.MEAN, 50.1, 0.0, INVALID),
        (Figure.P50, 0.0, 10.1, DEGRADED),
        (Figure.P50, 0.0, 50.1, INVALID),
        (Figure.P95, 25.0, 25.0, VALID),
        (Figure.P95, 25.1, 0.0, DEGRADED),
        (Figure.P99, 0.0, 25.1, DEGRADED),
        (Figure.P99, 50.1, 0.0, INVALID),
        (Figure.MEAN, -10.1, 0.0, DEGRADED),  # a replay that takes longer does not describe the run
        (Figure.MEAN, 20.0, 60.0, INVALID),  # the worse of both
        (Figure.MEAN, 20.0, None, DEGRADED),
    ],
)
def test_a_figure_is_judged_by_contention_and_by_the_unexplained(
    figure: Figure, contention: float, unexplained: float | None, verdict: FidelityVerdict
) -> None:
    """The figure is 100 ms, so that parts are percents."""
    assert judge_figure(figure, 100.0, Contention.known(contention), unexplained) is verdict


def test_contention_and_an_unexplained_part_of_the_other_sign_do_not_make_up_for_each_other() -> None:
    assert judge_figure(Figure.MEAN, 100.0, Contention.known(60.0), 60.0) is INVALID


@pytest.mark.parametrize(
    ("least", "most", "unexplained", "verdict"),
    [
        (0.0, 9.0, 9.0, VALID),
        (11.0, 40.0, 0.0, DEGRADED),
        (51.0, 90.0, 0.0, INVALID),
        (0.0, 11.0, 0.0, None),
        (11.0, 60.0, 11.0, None),
        (0.0, 90.0, 60.0, INVALID),
    ],
)
def test_of_unknown_contention_the_bounds_decide(
    least: float, most: float, unexplained: float, verdict: FidelityVerdict | None
) -> None:
    assert judge_figure(Figure.MEAN, 100.0, Contention(least, most, "why"), unexplained) is verdict


def test_a_figure_of_zero_bears_nothing() -> None:
    assert judge_figure(Figure.MEAN, 0.0, Contention.known(0.0), 0.0) is VALID
    assert judge_figure(Figure.MEAN, 0.0, Contention.known(0.1), 0.0) is INVALID


def test_every_figure_has_limits_of_which_invalid_is_the_greater() -> None:
    assert LIMITS.keys() == set(Figure)
    assert all(limits.degraded < limits.invalid for limits in LIMITS.values())


def figure(value: float, contention: float | None, verdict: FidelityVerdict | None = VALID) -> FigureVerdict:
    return FigureVerdict(
        figure=Figure.MEAN, value_ms=value, contention_ms=contention, unexplained_ms=1.0, verdict=verdict, counts=True
    )


def test_a_check_states_the_share_and_the_reason() -> None:
    check = figure(50.0, 4.0).check
    assert (check.name, check.value, check.limit, check.verdict) == ("mean delay", 8.0, 10.0, VALID)
    assert check.detail == "50.0 ms, 4.0 by contention, 1.0 that nothing explains"
    assert figure(50.0, None, None).check.verdict is DEGRADED


@pytest.mark.parametrize(
    ("first", "second", "without", "verdict"),
    [
        (0.0, 0.0, 0.5, VALID),
        (10.0, 15.0, 0.5, VALID),  # a tenth of both means changes nothing of their relation
        (0.0, 4.0, 0.46, VALID),
        (0.0, 20.0, 0.3, DEGRADED),
        (0.0, 30.0, 0.2, INVALID),
        (0.0, 60.0, -0.1, INVALID),  # the slower one is the faster one without contention
    ],
)
def test_a_difference_is_held_against_the_one_without_contention(
    first: float, second: float, without: float, verdict: FidelityVerdict
) -> None:
    """One figure is 150 ms, the other 100 ms."""
    judged = judge_difference(0.5, figure(100.0, first), figure(150.0, second), beyond_chance=True)
    assert judged.without_contention == pytest.approx(without)
    assert judged.verdict is verdict
    assert judged.unexplained == 0.01


def test_a_difference_that_may_be_chance_bears_as_much_contention_as_a_figure() -> None:
    first = figure(100.0, 0.0)
    assert judge_difference(0.01, first, figure(101.0, 5.0), beyond_chance=False).verdict is VALID
    assert judge_difference(0.01, first, figure(101.0, 5.0), beyond_chance=True).verdict is INVALID
    assert judge_difference(0.01, first, figure(101.0, 15.0), beyond_chance=False).verdict is DEGRADED


def test_a_difference_of_unknown_figures_is_not_known() -> None:
    judged = judge_difference(0.5, figure(100.0, None, None), figure(150.0, 0.0), beyond_chance=True)
    assert (judged.without_contention, judged.verdict) == (None, None)
