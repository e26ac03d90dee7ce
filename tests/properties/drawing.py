"""Settings of a search, and strategies that are made once.

Hypothesis validates, labels and examines each new strategy at its first use, which costs more than to draw a value; the
generators of workloads use the same few again and again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

T = TypeVar("T")

search = settings(
    max_examples=400,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
"""Settings of a search for a case that breaks a property: always the same cases, and the first one found as it is."""


@functools.cache
def integers(lowest: int, highest: int) -> st.SearchStrategy[int]:
    """Integers between two bounds, both included."""
    return st.integers(lowest, highest)


def one_of(values: Sequence[T]) -> st.SearchStrategy[T]:
    """One of some hashable values."""
    return _sampled(tuple(values))


@functools.lru_cache(10_000)
def _sampled(values: tuple[T, ...]) -> st.SearchStrategy[T]:
    return st.sampled_from(values)
