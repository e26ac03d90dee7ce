from __future__ import annotations

import pytest

from analysis.tables.comparison import DelayBlock, compare

MILLISECOND = 1_000_000


def blocks(count: int, factor: float) -> dict[int | None, DelayBlock]:
    return {
        number: DelayBlock(2, (20 + number) * MILLISECOND, round(factor * (20 + number) * MILLISECOND))
        for number in range(count)
    }


def test_a_constant_ratio_has_an_interval_of_no_width() -> None:
    compared = compare("fixed", "dynamic", blocks(10, 0.8), seed=1)
    assert compared.pairs == 20
    assert compared.reference_mean_ms == pytest.approx(245 / 20)
    assert compared.relative_difference == pytest.approx(-0.2)
    assert compared.interval == pytest.approx((-0.2, -0.2))


def test_the_interval_holds_the_difference_and_repeats_with_the_seed() -> None:
    noisy = {number: DelayBlock(1, 10 * MILLISECOND, (8 + number % 5) * MILLISECOND) for number in range(40)}
    compared = compare("fixed", "dynamic", noisy, seed=3)
    assert compared.interval is not None and compared.relative_difference is not None
    low, high = compared.interval
    assert compared.relative_difference == pytest.approx(0.0)
    assert low < 0 < high
    # The mean of 40 independent values of standard deviation 0.1414 has a standard error of 0.0224.
    assert high - low == pytest.approx(2 * 1.96 * 0.0224, rel=0.15)
    assert compare("fixed", "dynamic", noisy, seed=3) == compared


def test_few_blocks_give_no_interval_and_no_pairs_no_difference() -> None:
    assert compare("fixed", "dynamic", blocks(4, 0.5), seed=1).interval is None
    nothing = compare("fixed", "dynamic", {}, seed=1)
    assert (nothing.pairs, nothing.relative_difference, nothing.reference_mean_ms) == (0, None, None)
