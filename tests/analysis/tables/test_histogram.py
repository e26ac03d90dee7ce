"""Durations in classes: sums are exact, quantiles known to a class, in whatever order they come together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.tables.histogram import DurationHistogram, Durations, class_of, classes_of

durations = st.lists(st.integers(1, 10**12), min_size=1, max_size=50)


def added(values: list[int], per_decade: int) -> DurationHistogram:
    classes = DurationHistogram(per_decade=per_decade)
    for value in values:
        classes.add(class_of(value, per_decade), Durations(1, value, value))
    return classes


@given(durations, st.sampled_from((20, 100)), st.sampled_from((0.5, 0.95, 0.99, 1.0)))
def test_a_quantile_is_at_most_a_class_too_large(values: list[int], per_decade: int, share: float) -> None:
    classes = added(values, per_decade)
    exact = sorted(values)[math.ceil(share * len(values)) - 1]
    assert exact * (1 - 1e-9) <= classes.quantile(share) <= exact * 10 ** (1 / per_decade) * (1 + 1e-9)
    assert classes.mean == sum(values) / len(values)


@given(durations, durations)
def test_one_by_one_all_at_once_or_merged(first: list[int], second: list[int]) -> None:
    merged = DurationHistogram(per_decade=100)
    for part in (first, second):
        for number, of_class in classes_of(np.array(part), 100):
            merged.add(number, of_class)
    assert merged == added(first + second, 100)


def test_of_nothing_there_is_no_quantile() -> None:
    with pytest.raises(ValueError, match="no durations"):
        DurationHistogram().quantile(0.5)
