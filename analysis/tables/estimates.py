"""Numbers estimated from a sample, in the shape in which results hold them."""

from __future__ import annotations

import msgspec


class SampleEstimate(msgspec.Struct, frozen=True):
    """A number from a sample."""

    value: float
    interval: tuple[float, float] | None = None
    """Holds the true value with a confidence of 95%; null where the sample is too small to tell."""

    @property
    def beyond_chance(self) -> bool:
        """True when the interval excludes zero."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)
