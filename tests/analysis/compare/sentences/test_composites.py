"""The words for a comparison of ways to route composite subscriptions agree with the messages that were sent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from analysis.compare.sentences.composites import composite_comparison
from analysis.compare.sentences.finding import ComparisonInWords
from analysis.tables.summary import KindMessages, VariantSummary
from tests.analysis.report.empty_summaries import detected, empty_variant

WAYS = {"vary": {"routing.composites": ["simple", "dcsr"]}}
ENDING = "than with simple routing of composite subscriptions"


def variant(name: str, mean_ms: float | None = None, **sent: int) -> VariantSummary:
    messages = [
        KindMessages(kind=kind, from_clients=0, received=count, sent=count, sent_bytes=0)
        for kind, count in sent.items()
    ]
    return msgspec.structs.replace(detected(empty_variant(name), mean_ms), messages=messages)


SIMPLE = variant("simple", 11.1, publish=2463, subscribe=55)


def compared(*variants: VariantSummary, scenario: dict[str, Any] = WAYS) -> ComparisonInWords:
    words = composite_comparison(variants, scenario)
    assert words is not None
    return words


def test_publications_and_detections_count_together_and_control_messages_are_stated() -> None:
    words = compared(SIMPLE, variant("dcsr", 11.3, publish=1927, detection=200, control=184))
    assert words.finding == (
        f"Brokers sent each other 14% fewer publications and detections with DCSR {ENDING}: 2,127 instead of 2,463."
    )
    assert words.numbers == (
        "184 control messages instead of 0 come on top. Detections took 11.3 ms instead of 11.1 ms in the mean."
    )


def test_equal_delays_are_stated_once() -> None:
    assert (
        compared(SIMPLE, variant("dcsr", 11.12, publish=1)).numbers
        == "Detections took 11.1 ms with both ways in the mean."
    )


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (
            variant("dcsr", publish=2463, detection=2463),
            f"Brokers sent each other 100% more publications and detections with DCSR {ENDING}: 4,926 instead of "
            "2,463.",
        ),
        (
            variant("dcsr", publish=2463),
            "Brokers sent each other as many publications and detections with DCSR as with simple routing, 2,463.",
        ),
    ],
)
def test_no_way_is_praised_that_takes_as_many_messages(other: VariantSummary, expected: str) -> None:
    assert compared(SIMPLE, other) == ComparisonInWords(expected, "")


def test_of_several_ways_the_most_economical_is_named() -> None:
    words = compared(SIMPLE, variant("topology", publish=2000), variant("dcsr", publish=1000))
    first = "Of the 2 other ways to route composite subscriptions, DCSR was the most economical: "
    assert words.finding.startswith(f"{first}brokers sent each other 59% fewer")


@pytest.mark.parametrize("varied", [["routing.publications"], ["routing.composites", "topology.rows"]])
def test_variants_that_differ_in_anything_else_are_not_compared(varied: list[str]) -> None:
    assert composite_comparison([SIMPLE, SIMPLE], {"vary": {field: [] for field in varied}}) is None
    assert composite_comparison([SIMPLE], WAYS) is None
