"""Every rule of the verdict at its limits, and the confidence interval."""

from __future__ import annotations

import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import Claim, ClaimKind, ClaimVerdict, Measurement, Recipe, SeedEstimate, estimate, judge
from analysis.claims.verdict import judge_number

R, S, D = ClaimVerdict.REPRODUCED, ClaimVerdict.SAME_DIRECTION, ClaimVerdict.DIFFERS


def measured(mean: float, half: float | None = 0.01) -> SeedEstimate:
    if half is None:
        return SeedEstimate(mean=mean, low=None, high=None, seeds=1)
    return SeedEstimate(mean=mean, low=mean - half, high=mean + half, seeds=5)


@pytest.mark.parametrize(
    ("published", "mean", "half", "verdict"),
    [
        (-0.2, -0.2, 0.01, R),
        (-0.2, -0.239, 0.01, R),  # within a fifth
        (-0.2, -0.3, 0.01, S),
        (-0.2, -0.3, 0.11, R),  # not near, but the interval contains it
        (-0.2, -0.05, 0.04, S),
        (-0.2, -0.05, 0.06, D),  # chance is not ruled out
        (-0.2, -0.19, 0.2, D),  # near, but the interval is too wide
        (-0.2, 0.2, 0.01, D),
        (0.5, 0.45, 0.1, R),
        (0.5, 0.2, 0.1, S),
        (0.5, -0.2, 0.1, D),
        (0.008, 0.0, 0.01, R),  # practically no difference, and none found
        (0.008, 0.0, 0.06, D),
        (0.008, 0.04, 0.01, S),
        (-0.2, -0.2, None, S),  # a single seed
        (-0.2, 0.2, None, D),
    ],
)
def test_ratio(published: float, mean: float, half: float | None, verdict: ClaimVerdict) -> None:
    assert judge_number(ClaimKind.RATIO, published, measured(mean, half)) is verdict


@pytest.mark.parametrize(
    ("published", "mean", "half", "verdict"),
    [
        (0.25, 0.25, 0.01, R),
        (0.25, 0.27, 0.01, R),
        (0.25, 0.29, 0.01, S),
        (0.25, 0.29, 0.05, R),
        (0.25, 0.25, 0.2, S),  # the interval leaves the factor of two
        (0.25, 0.13, 0.01, S),
        (0.25, 0.12, 0.01, D),
        (0.25, 0.51, 0.01, D),
        (-0.25, -0.25, 0.01, R),
        (0.25, 0.25, None, S),
        (0.25, 0.9, None, D),
    ],
)
def test_value(published: float, mean: float, half: float | None, verdict: ClaimVerdict) -> None:
    assert judge_number(ClaimKind.VALUE, published, measured(mean, half)) is verdict


@pytest.mark.parametrize(
    ("mean", "half", "verdict"), [(0.2, 0.1, R), (0.2, 0.3, S), (0.2, None, S), (0.0, 0.1, D), (-0.2, 0.1, D)]
)
def test_order(mean: float, half: float | None, verdict: ClaimVerdict) -> None:
    assert judge_number(ClaimKind.ORDER, None, measured(mean, half)) is verdict


def claim(kind: ClaimKind, published: float | list[float] | None, *parts: str) -> Claim:
    recipe = Recipe(scenario="x.yaml", measure="x", parts=parts)
    return Claim(id="x", paper="tid", kind=kind, what="x", published=published, measured_by=recipe)


def test_a_claim_is_as_good_as_its_worst_part() -> None:
    both = claim(ClaimKind.RATIO, [-0.2, -0.2], "near", "far")
    judgement = judge(both, [Measurement(values=(-0.2, -0.1)), Measurement(values=(-0.201, -0.101))])
    assert [part.verdict for part in judgement.parts] == [R, S]
    assert [part.name for part in judgement.parts] == ["near", "far"]
    assert judgement.verdict is S
    assert judgement.seeds == 2


def test_numbers_that_a_claim_states_in_words_are_judged_as_published_ones() -> None:
    stated = Recipe(scenario="x.yaml", measure="x", parts=("delivery", "messages"), in_words=(0.9, 4.0))
    value = Claim(id="x", paper="tid", kind=ClaimKind.VALUE, what="about 90%, almost 4 times", measured_by=stated)
    judgement = judge(value, [Measurement(values=(0.89, 6.0)), Measurement(values=(0.9, 6.1))])
    assert [part.published for part in judgement.parts] == [0.9, 4.0]
    assert [part.verdict for part in judgement.parts] == [R, S]


def test_a_part_without_a_number_is_not_measured() -> None:
    both = claim(ClaimKind.RATIO, [-0.2, -0.2], "near", "far")
    judgement = judge(both, [Measurement(values=(-0.2, None)), Measurement(values=(-0.201, None))])
    assert judgement.verdict is ClaimVerdict.NOT_MEASURED
    assert judgement.parts[1].measured is None
    assert judge(both, []).verdict is ClaimVerdict.NOT_MEASURED


def test_a_property_holds_until_one_counter_example() -> None:
    always = claim(ClaimKind.PROPERTY, None)
    holds = judge(always, [Measurement(values=(0.0,), checked=10), Measurement(values=(0.0,), checked=5)])
    assert (holds.verdict, holds.checked, holds.violations) == (R, 15, 0)
    refuted = judge(
        always, [Measurement(values=(0.0,), checked=10), Measurement(values=(1.0,), checked=5, example="P1:3 at B2")]
    )
    assert (refuted.verdict, refuted.violations, refuted.example) == (D, 1, "P1:3 at B2")
    assert judge(always, [Measurement(values=(0.0,))]).verdict is ClaimVerdict.NOT_MEASURED


def test_an_interval_by_hand() -> None:
    """Mean 3, standard deviation 1.5811, t(4) = 2.776: 2.776 * 1.5811 / sqrt(5) = 1.963."""
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found is not None
    assert (found.mean, found.seeds) == (3.0, 5)
    assert found.low == pytest.approx(1.037, abs=1e-3)
    assert found.high == pytest.approx(4.963, abs=1e-3)


def test_seeds_without_a_value_do_not_count() -> None:
    found = estimate([1.0, None, 3.0, float("nan"), float("inf")])
    assert found is not None
    assert (found.mean, found.seeds) == (2.0, 2)
    assert estimate([None, None]) is None
    alone = estimate([7.0])
    assert alone is not None
    assert (alone.mean, alone.low, alone.high) == (7.0, None, None)


@pytest.mark.parametrize("seeds", [3, 40])
def test_the_interval_holds_the_truth_95_times_in_a_hundred(seeds: int) -> None:
    rng = random.Random(1)
    hits = 0
    for _ in range(4000):
        found = estimate([rng.gauss(1.0, 2.0) for _ in range(seeds)])
        assert found is not None
        hits += found.contains(1.0)
    assert hits / 4000 == pytest.approx(0.95, abs=0.015)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
def test_the_mean_lies_in_its_interval(values: list[float]) -> None:
    found = estimate(values)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.mean <= found.high
    assert found.mean == pytest.approx(fmean(values))


@given(st.floats(-0.9, 2.0).filter(lambda published: abs(published) > 1e-3), st.floats(-2.0, 2.0), st.floats(0.0, 1.0))
def test_a_reproduced_effect_has_the_published_sign(published: float, mean: float, half: float) -> None:
    if abs(published) > 0.1 and judge_number(ClaimKind.RATIO, published, measured(mean, half)) is not D:
        assert mean * published > 0
