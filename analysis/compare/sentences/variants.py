"""The comparisons of a run's variants in words, for the terminal and for the top of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.compare.sentences.composites import composite_comparison
from analysis.compare.sentences.delays import delay_comparison
from analysis.compare.sentences.finding import ComparisonInWords
from analysis.compare.sentences.ratios import ratio_comparison
from analysis.tables.summary import Summary


def comparisons_in_words(summary: Summary, scenario: Mapping[str, Any]) -> list[ComparisonInWords]:
    """The most telling comparison first; none for a single variant. `scenario` is the run's resolved scenario."""
    if summary.comparison is None:
        return []
    first = composite_comparison(summary.variants, scenario) or ratio_comparison(summary.variants, scenario)
    delays = delay_comparison(summary.comparison, scenario)
    return [delays] if first is None else [first, delays]
