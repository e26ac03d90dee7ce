"""Every rule of the verdict at its limits, and the confidence interval."""

from __future__ import annotations

import random
from statistics import fmean

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.claims import Claim, ClaimKind, ClaimVerdict, Measurement, Recipe, SeedEstimate, estimate, judge
from analysis.claims.estimates import estimate_of_share
from analysis.claims.standing import Fit, Standing
from analysis.claims.verdict import judge_number

R, S, D = ClaimVerdict.REPRODUCED, ClaimVerdict.SAME_DIRECTION, ClaimVerdict.DIFFERS
W = ClaimVerdict.WITHIN_FACTOR


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
        (0.25, 0.29, 0.01, W),
        (0.25, 0.29, 0.05, R),
        (0.25, 0.25, 0.2, W),  # the interval leaves the factor of two
        (0.25, 0.13, 0.01, W),
        (0.25, 0.12, 0.01, D),
        (0.25, 0.51, 0.01, D),
        (-0.25, -0.25, 0.01, R),
        (0.25, 0.25, None, W),
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
    assert [part.verdict for part in judgement.parts] == [R, W]


def test_parts_that_are_no_test_do_not_decide() -> None:
    both = claim(ClaimKind.RATIO, [-0.2, -0.2], "near", "far")
    fit = Fit(scenarios=("x.yaml",), parameters={}, to=("x: far",))
    measured_twice = [Measurement(values=(-0.2, 0.1)), Measurement(values=(-0.201, 0.101))]
    assert judge(both, measured_twice).verdict is D
    judgement = judge(msgspec.structs.replace(both, fits=(fit,)), measured_twice)
    assert judgement.verdict is R
    assert [part.standing for part in judgement.parts] == [Standing.TESTED, Standing.CALIBRATED]
    whole = msgspec.structs.replace(both, fits=(msgspec.structs.replace(fit, to=("x",)),))
    assert judge(whole, measured_twice).verdict is D, "its own verdict, though it does not count"


def test_the_interval_of_a_share_ends_at_0_and_1() -> None:
    """Shares of 0.91, 0.77 and 0.29 have the mean 0.657 and a standard error of 0.188; t(2) = 4.303."""
    symmetric, found = estimate([0.91, 0.77, 0.29]), estimate_of_share([0.91, 0.77, 0.29])
    assert symmetric is not None
    assert symmetric.high is not None
    assert symmetric.high > 1
    assert found is not None
    assert (found.mean, found.seeds) == (symmetric.mean, 3)
    assert found.low == pytest.approx(0.114, abs=0.01)
    assert found.high == pytest.approx(0.965, abs=0.01)
    assert estimate_of_share([1.0, 1.0]) == estimate([1.0, 1.0])
    assert estimate_of_share([0.4]) == estimate([0.4])


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12))
@example([0.0, 5e-324])
@example([0.0, 1e-170])
@example([0.0, 1.3703999758899821e-161])
def test_a_share_lies_between_0_and_1_with_its_interval(values: list[float]) -> None:
    found = estimate_of_share(values)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= 1


def test_the_interval_of_a_share_holds_the_truth_nearly_95_times_in_a_hundred() -> None:
    rng = random.Random(1)
    hits = 0
    for _ in range(2000):
        found = estimate_of_share([rng.betavariate(9.0, 1.0) for _ in range(6)])
        assert found is not None
        hits += found.contains(0.9)
    assert hits / 2000 == pytest.approx(0.95, abs=0.03)


def test_only_parts_that_are_shares_have_such_an_interval() -> None:
    recipe = Recipe(scenario="x.yaml", measure="x", parts=("lost", "times"), shares=("lost",))
    both = Claim(id="x", paper="tid", kind=ClaimKind.VALUE, what="x", published=[0.5, 0.9], measured_by=recipe)
    lost, times = judge(both, [Measurement(values=(value, value)) for value in (0.91, 0.77, 0.29)]).parts
    assert lost.measured is not None
    assert lost.measured.high is not None
    assert times.measured is not None
    assert times.measured.high is not None
    assert lost.measured.high < 1 < times.measured.high


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
