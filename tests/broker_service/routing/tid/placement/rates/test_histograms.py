from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Number
from broker_service.routing.tid.placement.rates.histograms import (
    BUCKETS,
    LISTED,
    LONGEST_LISTED,
    FrequentValues,
    Histogram,
    even_histogram,
    frequent_values_of,
    histogram_of,
)
from tests.broker_service.language.strategies import any_values, unhurried

numbers = (
    st.integers(-20, 20)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([10**900, -(10**900)])
)
samples = st.lists(numbers, max_size=40)


def share_between(sample: Sequence[Number], low: Number | None, high: Number | None) -> float:
    """The share that a histogram estimates, counted."""
    within = [(low is None or low <= number) and (high is None or number <= high) for number in sample]
    return sum(within) / len(sample)


@unhurried
@given(st.lists(numbers, min_size=1, max_size=40), numbers, numbers)
def test_a_share_is_off_by_the_buckets_of_its_bounds_at_most(
    sample: list[Number], one_bound: Number, other_bound: Number
) -> None:
    histogram = histogram_of(sample, len(sample))
    low, high = sorted((one_bound, other_bound))
    for left, right in [(low, high), (None, high), (low, None)]:
        slack = sum(_share_around(histogram, bound) for bound in (left, right) if bound is not None)
        assert abs(histogram.between(left, right) - share_between(sample, left, right)) <= slack + 1e-9


def _share_around(histogram: Histogram, number: Number) -> float:
    """Share of the bucket that a number falls into; of both where it may be rounded across their border."""
    width = (histogram.high - histogram.low) / BUCKETS
    reach = max(abs(histogram.low), abs(histogram.high)) * 1e-9
    if not width or abs(number) > 1e300:
        return histogram.total
    return sum(
        share
        for place, share in enumerate(histogram.shares)
        if histogram.low + place * width - reach <= number <= histogram.low + (place + 1) * width + reach
    )


@unhurried
@given(samples, st.lists(numbers, max_size=5))
def test_intervals_that_follow_one_another_share_all_numbers(sample: list[Number], cuts: list[Number]) -> None:
    histogram = histogram_of(sample, 50)
    bounds = [None, *sorted(cuts), None]
    parts = [histogram.between(low, high) for low, high in itertools.pairwise(bounds)]
    assert sum(parts) == pytest.approx(len(sample) / 50)
    assert all(part >= 0 for part in parts)


def test_numbers_are_spread_evenly_within_a_bucket() -> None:
    histogram = histogram_of([0, 1, 2, 3, 40], 10)
    assert len(histogram.shares) == BUCKETS
    assert histogram.between(None, 1) == pytest.approx(0.1)  # half of the two in the first bucket, from 0 to 2
    assert histogram.between(2, 40) == pytest.approx(0.3)
    assert histogram.between(50, None) == histogram.between(3, 2) == 0
    assert histogram.bucket_of(40) == pytest.approx(0.1) and histogram.bucket_of(41) == 0


@unhurried
@given(samples)
def test_two_histograms_of_one_sample_do_not_differ(sample: list[Number]) -> None:
    histogram = histogram_of(sample, 50)
    assert histogram.difference(histogram) == 0
    assert histogram.difference(Histogram()) == pytest.approx(histogram.total)


def test_histograms_differ_by_the_greatest_difference_of_shares_below_a_number() -> None:
    former, latter = even_histogram(0, 100), even_histogram(50, 150)
    assert former.difference(latter) == pytest.approx(0.5)
    assert even_histogram(5, 5).difference(even_histogram(0, 10)) == pytest.approx(0.5)


@unhurried
@given(st.lists(any_values, max_size=60))
def test_frequent_values_have_the_shares_that_are_counted(values: list[Number | str]) -> None:
    frequent = frequent_values_of(values, 100)
    assert len(frequent.listed) <= LISTED
    for value, share in frequent.listed:
        assert share == values.count(value) / 100
    listed = {value for value, _ in frequent.listed}
    assert frequent.others == pytest.approx(sum(value not in listed for value in values) / 100)
    assert frequent.different == len(set(values) - listed)
    least = min((share for _, share in frequent.listed), default=1)
    for value in values:
        if value not in listed and isinstance(value, str) and len(value) <= LONGEST_LISTED:
            assert values.count(value) / 100 <= least


def test_a_value_that_is_not_listed_is_as_common_as_the_average_of_those() -> None:
    frequent = frequent_values_of([*range(30), *range(10)], 40)
    assert [value for value, _ in frequent.listed][:10] == list(range(10))
    assert frequent.others == 10 / 40 and frequent.different == 10
    assert frequent.share_of(5) == 2 / 40
    assert frequent.share_of(1000) == pytest.approx(1 / 40)


def test_frequent_values_differ_by_the_greatest_difference_of_a_share() -> None:
    former = frequent_values_of(["a", "a", "b", "b"], 4)
    assert former.difference(former) == 0
    assert former.difference(frequent_values_of(["a", "c", "b", "b"], 4)) == 0.25
    assert former.difference(FrequentValues()) == 0.5


@unhurried
@given(samples, st.lists(any_values, max_size=60))
def test_both_survive_the_way_to_a_neighbour(sample: list[Number], values: list[Number | str]) -> None:
    for sent in (histogram_of(sample, 60), frequent_values_of(values, 60)):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=type(sent)) == sent


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ([0.0, 1.0, [0.6, 0.6]], Histogram),
        ([0.0, 1.0, [-0.1]], Histogram),
        ([0.0, 1.0, [float("nan")]], Histogram),
        ([1.0, 0.0, [0.5]], Histogram),
        ([0.0, float("inf"), [0.5]], Histogram),
        ([-1e308, 1e308, [0.5]], Histogram),
        ([0.0, 1.0, [0.01] * (BUCKETS + 1)], Histogram),
        ([[["a", 0.9]], 0.9, 1], FrequentValues),
        ([[["a", 0.9]], 0.1, 0], FrequentValues),
        ([[["a", -0.9]], 0.1, 1], FrequentValues),
        ([[["a", 0.01]] * (LISTED + 1), 0.0, 0], FrequentValues),
        ([[[b"a", 0.1]], 0.0, 0], FrequentValues),
    ],
)
def test_a_neighbours_nonsense_does_not_decode(fields: object, kind: type[Histogram | FrequentValues]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(fields), type=kind)
