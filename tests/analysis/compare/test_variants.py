from __future__ import annotations

import pytest

from analysis.compare.variants import compare_pairs, compare_with_first
from analysis.tables.comparison import DelayBlock

MILLISECOND = 1_000_000


def blocks(count: int, factor: float, compared: int = 1) -> list[DelayBlock]:
    return [
        DelayBlock(compared, number, 2, (20 + number) * MILLISECOND, round(factor * (20 + number) * MILLISECOND))
        for number in range(count)
    ]


def test_a_constant_ratio_has_an_interval_of_no_width() -> None:
    compared = compare_pairs("fixed", "dynamic", blocks(10, 0.8), seed=1)
    assert compared.pairs == 20
    assert compared.reference_mean_ms == pytest.approx(245 / 20)
    assert compared.relative_difference == pytest.approx(-0.2)
    assert compared.interval == pytest.approx((-0.2, -0.2))


def test_the_interval_holds_the_difference_and_repeats_with_the_seed() -> None:
    noisy = [DelayBlock(1, number, 1, 10 * MILLISECOND, (8 + number % 5) * MILLISECOND) for number in range(40)]
    compared = compare_pairs("fixed", "dynamic", noisy, seed=3)
    assert compared.interval is not None and compared.relative_difference is not None
    low, high = compared.interval
    assert compared.relative_difference == pytest.approx(0.0)
    assert low < 0 < high
    # The mean of 40 independent values of standard deviation 0.1414 has a standard error of 0.0224.
    assert high - low == pytest.approx(2 * 1.96 * 0.0224, rel=0.15)
    assert compare_pairs("fixed", "dynamic", noisy, seed=3) == compared


def test_few_blocks_give_no_interval_and_no_pairs_no_difference() -> None:
    assert compare_pairs("fixed", "dynamic", blocks(4, 0.5), seed=1).interval is None
    nothing = compare_pairs("fixed", "dynamic", [], seed=1)
    assert (nothing.pairs, nothing.relative_difference, nothing.reference_mean_ms) == (0, None, None)


def test_of_several_variants_the_fastest_is_compared_with_the_first() -> None:
    found = compare_with_first(
        ["fixed", "slow", "fast", "silent"], [*blocks(10, 1.5), *blocks(10, 0.7, compared=2)], seed=1
    )
    assert (found.reference, found.variant, found.candidates) == ("fixed", "fast", 3)
    assert found.relative_difference == pytest.approx(-0.3)


def test_a_variant_without_common_notifications_is_compared_where_there_is_no_other() -> None:
    found = compare_with_first(["fixed", "silent"], [], seed=1)
    assert (found.variant, found.candidates, found.relative_difference) == ("silent", 1, None)


def test_the_choice_among_several_variants_widens_the_interval() -> None:
    noisy = [DelayBlock(1, number, 1, 10 * MILLISECOND, (8 + number % 5) * MILLISECOND) for number in range(40)]
    alone, chosen = (compare_pairs("fixed", "dynamic", noisy, 3, candidates).interval for candidates in (1, 5))
    assert alone is not None and chosen is not None
    assert chosen[0] < alone[0] < alone[1] < chosen[1]
    # Bonferroni: 99% of a normal distribution lie within 2.576 standard errors, 95% within 1.96.
    assert (chosen[1] - chosen[0]) / (alone[1] - alone[0]) == pytest.approx(2.576 / 1.96, rel=0.15)


@pytest.mark.parametrize(("factor", "beyond"), [(0.8, True), (1.2, True), (1.0, False)])
def test_a_difference_is_beyond_chance_when_its_interval_excludes_zero(factor: float, beyond: bool) -> None:
    assert compare_pairs("fixed", "dynamic", blocks(10, factor), seed=1).beyond_chance is beyond
    assert not compare_pairs("fixed", "dynamic", blocks(4, factor), seed=1).beyond_chance
