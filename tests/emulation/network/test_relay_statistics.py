"""Percentiles of lateness."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from emulation.network.relay.messages import LATENESS_UNIT
from emulation.network.relay_statistics import lateness_percentile


@given(st.dictionaries(st.integers(0, 50), st.integers(1, 20), min_size=1), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_is_the_upper_end_of_the_nearest_rank(buckets: dict[int, int], share: float) -> None:
    ordered = sorted(bucket for bucket, count in buckets.items() for _ in range(count))
    nearest = ordered[math.ceil(share * len(ordered)) - 1]
    assert lateness_percentile(buckets, share) == (nearest + 1) * LATENESS_UNIT / 1e9


def test_nothing_is_never_late() -> None:
    assert lateness_percentile({}, 0.99) == 0
