"""The search for the capacity ends near it, from whichever side, and says what breaks."""

from __future__ import annotations

import pytest

from benchmarks.capacity import CLOSE, HIGHEST, LOWEST, Trial, search


@pytest.mark.parametrize("capacity", [2.5, 15, 16, 17, 100, 900])
def test_the_search_ends_close_below_the_capacity(capacity: float) -> None:
    tried: list[float] = []

    def attempt(rate: float) -> Trial:
        tried.append(rate)
        return Trial(rate, "" if rate <= capacity else "too fast")

    carried, broken = search(attempt)
    assert carried and carried.rate <= capacity
    assert broken and capacity < broken.rate <= carried.rate * CLOSE
    assert len(tried) <= 10


def test_a_host_that_carries_nothing_or_everything_ends_the_search() -> None:
    assert search(lambda rate: Trial(rate, "too fast"))[0] is None
    carried, broken = search(lambda rate: Trial(rate, ""))
    assert carried and carried.rate <= HIGHEST and broken is None
    assert carried.rate > LOWEST
