"""A comparison of variants in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ComparisonInWords:
    """A difference between variants, and the numbers behind it."""

    finding: str
    """One sentence: the difference, with its interval and its cause where the logs show them."""
    numbers: str
    """Further sentences with the numbers; empty where nothing could be compared."""
