"""Delays in logarithmic classes: small enough to be added up, whatever their number."""

from __future__ import annotations

CLASSES_PER_DECADE = 20
SMALLEST_MS = 0.001
"""Delays below a microsecond fall into its class."""


def lower_ms(number: int) -> float:
    """Where a class begins; it ends where the next one begins."""
    return float(10.0 ** (number / CLASSES_PER_DECADE))
