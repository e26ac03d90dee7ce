"""Worse and better are said only where the interval of paired differences says so."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from analysis.tables.student import student_t, student_t_at
from record.limits import LimitedFigure
from studies.baselines.cases import baseline_suite
from studies.baselines.comparison import Change, FigureChange, compared
from studies.baselines.model import Baseline
from studies.junit import JunitOutcome


def baseline(*values: float, figure: str = "mean", others: int = 0) -> Baseline:
    """A baseline of one figure by seeds from 1, and of variants that stay as they are beside it."""
    by_seed = {seed: {figure: value} for seed, value in enumerate(values, 1)}
    more = {f"other{number}": {1: {"mean": 1.0}} for number in range(others)}
    return Baseline(scenario="s", plan="p", runtime="simulated", revision="r", variants={"base": by_seed} | more)


def change(before: Sequence[float], now: Sequence[float], figure: str = "mean", others: int = 0) -> FigureChange:
    runs = {seed: {figure: value} for seed, value in enumerate(now, 1)}
    return compared(baseline(*before, figure=figure, others=others), {"base": runs})[0]


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 10, 29, 30])
def test_quantiles_are_those_of_the_table(freedom: int) -> None:
    assert student_t_at(freedom, 0.95) == pytest.approx(student_t(freedom), abs=6e-4)


@pytest.mark.parametrize(("freedom", "confidence", "quantile"), [(4, 0.99, 4.604), (2, 0.999, 31.599), (9, 0.5, 0.703)])
def test_quantiles_of_other_confidences(freedom: int, confidence: float, quantile: float) -> None:
    assert student_t_at(freedom, confidence) == pytest.approx(quantile, abs=6e-4)


@pytest.mark.parametrize(
    ("now", "expected", "words"),
    [
        ([100.0, 200.0], Change.SAME, "base: mean delay: the same in 2 seeds (150 ms)"),
        (
            [110.0, 220.0],
            Change.WORSE,
            "base: mean delay: worse: 165 ms instead of 150 ms, +10% over 2 seeds (interval +10% to +10%)",
        ),
        ([90.0, 180.0], Change.BETTER, None),
        ([101.0, 198.0], Change.UNCLEAR, "; not even 1,000 seeds would tell"),
        ([110.0, 205.0], Change.UNCLEAR, "; about 4 more seeds would tell"),
    ],
)
def test_a_claim_needs_an_interval_without_zero(now: list[float], expected: Change, words: str | None) -> None:
    found = change([100.0, 200.0], now)
    assert found.change is expected
    assert words is None or words in found.in_words()


def test_the_number_of_further_seeds_is_the_least_that_would_tell() -> None:
    """Differences of 10% and 2.5%: a mean of 6.25% and a spread of 5.3%."""
    found = change([100.0, 200.0], [110.0, 205.0])
    assert found.further is not None
    mean, spread = 0.0625, 0.075 / math.sqrt(2)
    tells = {pairs: mean > student_t_at(pairs - 1, 0.95) * spread / math.sqrt(pairs) for pairs in (5, 6)}
    assert tells == {5: False, 6: True}
    assert found.further == 6 - 2


def test_one_seed_claims_nothing() -> None:
    found = change([100.0], [150.0])
    assert found.change is Change.UNCLEAR
    assert found.in_words() == (
        "base: mean delay: no difference shown: 150 ms instead of 100 ms, +50% over one seed; two seeds at least make "
        "an interval"
    )


def test_many_comparisons_together_claim_no_more_than_one() -> None:
    before, now = [100.0, 100.0, 100.0], [106.0, 108.0, 110.0]
    assert change(before, now).change is Change.WORSE
    assert change(before, now, others=19).change is Change.UNCLEAR


def test_a_baseline_of_zero_is_held_by_differences() -> None:
    found = change([0.0, 10.0], [3.0, 13.0], figure="excused")
    assert (found.change, found.difference, found.relative) == (Change.WORSE, 3.0, False)
    assert found.figure is LimitedFigure.EXCUSED


def test_seeds_that_only_one_side_has_are_left_out_and_none_in_common_is_not_judged() -> None:
    kept = baseline(100.0, 200.0)
    (found,) = compared(kept, {"base": {2: {"mean": 200.0}, 9: {"mean": 999.0}}})
    assert (found.pairs, found.change) == (1, Change.SAME)
    for missing in ({}, {"base": {9: {"mean": 1.0}}}, {"base": {1: {"p95": 1.0}}}):
        (found,) = compared(kept, missing)
        assert found.change is Change.NOT_JUDGED


def test_each_figure_is_a_case() -> None:
    changes = compared(baseline(100.0, 200.0, others=1), {"base": {1: {"mean": 120.0}, 2: {"mean": 240.0}}})
    suite = baseline_suite("smoke", changes)
    assert [(case.name, case.kind) for case in suite.cases] == [
        ("base: mean", JunitOutcome.FAILED),
        ("other0: mean", JunitOutcome.ERROR),
    ]
