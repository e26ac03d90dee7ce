"""Growth of a measured value with the size of what was measured, over a factor of 100, and what bounds it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

FACTOR = 100
"""Ratio of sizes over which growth is stated."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Values of one figure at several sizes.

    >>> str(Growth("subscriptions", {1_000: 2.0, 100_000: 7.0}, "the subscriptions that match"))
    '3.5 times from 1,000 to 100,000 subscriptions; bounded by the subscriptions that match'
    """

    size: str
    """Plural noun for what is counted as size, such as `subscriptions`."""
    values: Mapping[int, float] | Mapping[float, float]
    """Value at each size, in the unit of the figure."""
    bound: str
    """Noun phrase for the work or the resource that bounds the figure at the largest size."""

    @property
    def factor(self) -> float | None:
        """Value at `FACTOR` times the smallest size in relation to that at the smallest; None unless both exceed zero.

        Smallest and largest size are taken as two points of a power law where their ratio is not `FACTOR`.
        """
        (smallest, first), (largest, last) = min(self.values.items()), max(self.values.items())
        if min(first, last) <= 0:
            return None
        return math.exp(math.log(last / first) * math.log(FACTOR) / math.log(largest / smallest))

    def __str__(self) -> str:
        return f"{self._change}; bounded by {self.bound}"

    @property
    def _change(self) -> str:
        (smallest, first), (largest, last) = min(self.values.items()), max(self.values.items())
        span = f"from {smallest:,.6g} to {largest:,.6g} {self.size}"
        if self.factor is None:
            return f"{first:,.3g} {span}" if first == last else f"{first:,.3g} to {last:,.3g} {span}"
        stated = f"{self.factor:,.2g} times" if self.factor < 10 else f"{self.factor:,.0f} times"
        if math.isclose(largest / smallest, FACTOR, rel_tol=0.01):
            return f"{stated} {span}"
        return f"{stated} over a factor of {FACTOR}, as measured {span}"


def growth_of(size: str, values: Mapping[int, float] | Mapping[float, float], bound: str) -> Growth | None:
    """The growth of these values; None where they are of one size only."""
    return Growth(size, values, bound) if len(values) > 1 else None
