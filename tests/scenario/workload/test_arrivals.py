"""Merged times of publications: those that each publisher would have on its own."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.time_units import SECOND
from scenario.sections.workload.kind import Arrivals
from scenario.workload.arrivals import Arrival, merged_arrivals

RATES = st.lists(st.floats(0.1, 50), min_size=1, max_size=8)
KINDS = st.sampled_from(["periodic", "poisson"])


def alone(rates: list[float], run: float, seed: int) -> list[Arrival]:
    """Periodic arrivals of each publisher, one after another, then sorted."""
    rng = random.Random(seed)
    phases = [rng.random() * (SECOND / rate) for rate in rates]
    made = []
    for index, (rate, phase) in enumerate(zip(rates, phases, strict=True)):
        number = 0
        while (time := int(phase + number * (SECOND / rate))) < round(run * SECOND):
            number += 1
            made.append((time, index, number))
    return sorted(made)


@given(RATES, st.floats(0, 5), st.integers(0, 100))
def test_periodic_arrivals_are_those_of_each_publisher_alone(rates: list[float], run: float, seed: int) -> None:
    assert list(merged_arrivals(rates, "periodic", run, random.Random(seed))) == alone(rates, run, seed)


@given(RATES, KINDS, st.floats(0, 5), st.integers(0, 100))
def test_arrivals_are_sorted_and_numbered_and_the_same_each_time(
    rates: list[float], kind: Arrivals, run: float, seed: int
) -> None:
    found = list(merged_arrivals(rates, kind, run, random.Random(seed)))
    assert found == list(merged_arrivals(rates, kind, run, random.Random(seed)))
    assert all(earlier[0] <= later[0] for earlier, later in pairwise(found))
    assert all(0 <= time < run * SECOND for time, _, _ in found)
    seen: Counter[int] = Counter()
    for _, index, number in found:
        seen[index] += 1
        assert number == seen[index]


@given(RATES, KINDS, st.integers(0, 100))
def test_a_longer_run_goes_on_where_a_shorter_one_ends(rates: list[float], kind: Arrivals, seed: int) -> None:
    short = list(merged_arrivals(rates, kind, 1.0, random.Random(seed)))
    assert list(merged_arrivals(rates, kind, 2.0, random.Random(seed)))[: len(short)] == short


def test_poisson_arrivals_divide_by_rates_and_have_exponential_gaps() -> None:
    found = list(merged_arrivals([1.0, 3.0, 6.0], "poisson", 1000.0, random.Random(1)))
    counts = Counter(index for _, index, _ in found)
    assert [counts[index] / 1000 for index in range(3)] == pytest.approx([1, 3, 6], rel=0.1)
    times = [time for time, index, _ in found if index == 1]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    assert sum(gap < mean for gap in gaps) / len(gaps) == pytest.approx(0.632, abs=0.03)  # 1 - 1/e
    assert sum(gap**2 for gap in gaps) / len(gaps) / mean**2 == pytest.approx(2, rel=0.15)
