"""The words for a comparison of delivery ratios."""

from __future__ import annotations

import msgspec
import pytest

from analysis.compare.sentences.finding import named
from analysis.compare.sentences.ratios import ratio_comparison
from analysis.tables.summary import BestEffort, VariantSummary
from tests.analysis.report.empty_summaries import empty_variant

HORIZONS = {"vary": {"routing.horizon": [0, 1, 2]}}


def variant(name: str, ratio: float, half: float | None = 0.02) -> VariantSummary:
    found = BestEffort(
        due=1000,
        missed=round(1000 * (1 - ratio)),
        ratio=ratio,
        low=None if half is None else ratio - half,
        high=None if half is None else ratio + half,
        wanted=None,
    )
    made = empty_variant(name)
    return msgspec.structs.replace(made, delivery=msgspec.structs.replace(made.delivery, best_effort=found))


def test_the_highest_ratio_is_told_with_both_intervals() -> None:
    words = ratio_comparison([variant("0", 0.56), variant("1", 0.924), variant("2", 0.94)], HORIZONS)
    assert words is not None
    assert words.finding == (
        "Of the 2 other variants, the delivery ratio was highest with horizon 2: 94.0% instead of 56.0% with horizon 0."
    )
    assert words.numbers == "95% intervals: 92.0% to 96.0% and 54.0% to 58.0%."


def test_a_ratio_that_fell_is_told() -> None:
    words = ratio_comparison([variant("2", 0.94), variant("0", 0.56)], HORIZONS)
    assert words is not None
    assert words.finding == "The delivery ratio with horizon 0 was 56.0% instead of 94.0% with horizon 2."


@pytest.mark.parametrize(
    "others", [[], [variant("1", 0.58)], [variant("1", 0.9, None)], [variant("2", 0.9), empty_variant("1")]]
)
def test_nothing_is_told_where_intervals_overlap_or_are_not_known(others: list[VariantSummary]) -> None:
    assert ratio_comparison([variant("0", 0.56), *others], HORIZONS) is None


@pytest.mark.parametrize(
    ("varied", "name", "words"),
    [
        ("routing.publications", "dynamic", "dynamic routing"),
        ("routing.horizon", "2", "routing with horizon 2"),
        ("brokers.service_time", "2ms", "service time 2ms"),
        ("workload.subscriptions.popularity", "uniform", "variant uniform"),
    ],
)
def test_variants_are_called_what_they_vary(varied: str, name: str, words: str) -> None:
    assert named(name, {"vary": {varied: [name]}}) == words
