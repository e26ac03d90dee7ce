"""The comparison of delivery ratios in words, of variants that promise best effort alone.

Their delays compare what came of both, so they say little where one of them delivers much more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from analysis.compare.sentences.finding import ComparisonInWords, named
from analysis.tables.summary import VariantSummary


class _Ratio(NamedTuple):
    """A delivery ratio with its 95% interval."""

    ratio: float
    low: float
    high: float
    name: str
    """The variant."""


def ratio_comparison(variants: Sequence[VariantSummary], scenario: Mapping[str, Any]) -> ComparisonInWords | None:
    """The variant with the highest delivery ratio against the first one, or that with the lowest where none has more.

    None where a variant is not of best effort, or the intervals of the two overlap.
    """
    ratios = [_ratio(variant) for variant in variants]
    known = [found for found in ratios if found is not None]
    if len(variants) < 2 or len(known) < len(variants):
        return None
    first, *others = known
    best, least = max(others), min(others)
    told, words = (best, "highest") if best.low > first.high else (least, "lowest")
    if told.low <= first.high and told.high >= first.low:
        return None
    name, other = (named(found.name, scenario).removeprefix("routing with ") for found in (told, first))
    change = f"{told.ratio:.1%} instead of {first.ratio:.1%} with {other}"
    finding = f"The delivery ratio with {name} was {change}."
    if len(others) > 1:
        finding = f"Of the {len(others)} other variants, the delivery ratio was {words} with {name}: {change}."
    intervals = " and ".join(f"{found.low:.1%} to {found.high:.1%}" for found in (told, first))
    return ComparisonInWords(finding, f"95% intervals: {intervals}.")


def _ratio(variant: VariantSummary) -> _Ratio | None:
    """The delivery ratio and its interval; None where either is not known."""
    found = variant.delivery.best_effort
    if found is UNSET or found.ratio is None or found.low is None or found.high is None:
        return None
    return _Ratio(found.ratio, found.low, found.high, variant.name)
