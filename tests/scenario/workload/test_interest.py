"""Interest in values: the published statistics of MEDYM, section 5.1.2."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenario.workload import interest


@pytest.mark.parametrize("ratio", [0.001, 0.01, 0.1, 0.5, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("exponent", [0.8, 1.2, 3.0])
def test_zipf_has_the_wanted_ratio_over_uniform_publications(ratio: float, exponent: float) -> None:
    popularity = np.full(2000, 1 / 2000)
    chances = interest.drawn(interest.zipf(2000, exponent), popularity, ratio)
    assert float(popularity @ chances) == pytest.approx(ratio, rel=1e-9)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (np.diff(chances) <= 0).all(), "a value of lower rank is wanted by no more brokers"


def test_zipf_chances_are_those_of_independent_draws() -> None:
    """The oracle counts draws: brokers with 30 draws each want 100 values with these shares."""
    shares = interest.zipf(100, 1.2)
    rng = np.random.default_rng(1)
    wanted = np.zeros(100)
    for _ in range(4000):
        wanted[np.unique(rng.choice(100, size=30, p=shares))] += 1
    ratio = float(np.mean(1 - (1 - shares) ** 30))
    chances = interest.drawn(shares, np.full(100, 0.01), ratio)
    assert chances == pytest.approx(1 - (1 - shares) ** 30, rel=1e-6)
    assert chances == pytest.approx(wanted / 4000, abs=0.03)


def test_zipf_shares_follow_the_exponent() -> None:
    shares = interest.zipf(1000, 1.2)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] / shares[9] == pytest.approx(10**1.2)


def test_peaks_deviate_by_a_quarter_of_their_mean_gap() -> None:
    assert interest.deviation(np.array([100.0, 200.0, 500.0, 600.0, 900.0])) == 50
    positions = interest.peaks(2000, 5, np.random.default_rng(3))
    assert list(positions) == sorted(positions)
    assert interest.deviation(positions) == pytest.approx((positions[-1] - positions[0]) / 4 / 4)


def test_a_mixture_has_its_peaks_and_their_deviation() -> None:
    positions = np.array([400.0, 800.0, 1200.0, 1600.0])
    weights = interest.mixture(2000, positions)
    assert weights.sum() == pytest.approx(1)
    maxima = [value for value in range(1, 1999) if weights[value - 1] < weights[value] >= weights[value + 1]]
    assert maxima == pytest.approx(positions, abs=2)
    around = np.arange(200, 600)
    mean = weights[around] @ around / weights[around].sum()
    spread = (weights[around] @ (around - mean) ** 2 / weights[around].sum()) ** 0.5
    assert spread == pytest.approx(100, rel=0.12), "cut off at two deviations"


@given(st.integers(1, 500), st.lists(st.floats(0, 1), min_size=2, max_size=6), st.floats(0.001, 0.999))
def test_a_multimodal_workload_has_the_wanted_ratio(values: int, shares: list[float], ratio: float) -> None:
    """Peaks may coincide, be narrower than a value, or lie on the border."""
    weights = interest.mixture(values, np.sort(np.array(shares) * values))
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1)
    chances = interest.drawn(weights, weights, ratio)
    assert float(weights @ chances) == pytest.approx(ratio, rel=1e-6)
    assert ((chances >= 0) & (chances <= 1)).all()


def distances(seed: int, brokers: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    found = rng.uniform(1, 100, (brokers, brokers))
    found = found + found.T
    np.fill_diagonal(found, np.inf)
    np.fill_diagonal(found, found.min(axis=1))
    return found


@given(st.integers(0, 50), st.integers(2, 30), st.floats(0.001, 1.0), st.floats(0.1, 4))
def test_regional_chances_are_capped_and_refitted(seed: int, brokers: int, ratio: float, decay: float) -> None:
    far = distances(seed, brokers)
    importance = np.full(brokers, 1 / brokers)
    chances = interest.regional(far, importance, decay, ratio)
    assert float(chances.mean()) == pytest.approx(ratio, rel=1e-6)
    below = chances < 1
    factors = (chances * far**decay)[below]
    assert factors == pytest.approx(factors[0] if len(factors) else 0.0, rel=1e-6), "c / distance, where less than 1"
    if len(factors):
        assert (factors[0] * far**-decay >= 1 - 1e-9)[~below].all(), "1 where c / distance is more"


def test_a_brokers_own_values_count_as_its_nearest_neighbours() -> None:
    far = distances(1, 10)
    chances = interest.regional(far, np.full(10, 0.1), 1.0, 0.2)
    for broker in range(10):
        others = np.delete(chances[broker], broker)
        assert chances[broker, broker] == others.max()


def test_brokers_that_publish_more_count_more() -> None:
    far = distances(2, 6)
    importance = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    chances = interest.regional(far, importance, 1.0, 0.3)
    assert float(chances.mean(axis=0) @ importance) == pytest.approx(0.3)
