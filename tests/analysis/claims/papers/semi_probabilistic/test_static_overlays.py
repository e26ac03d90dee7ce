"""Measures of overlays that do not change, on small runs whose results can be computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.claims import ClaimsError
from analysis.claims.papers.semi_probabilistic.variants import EVENTS
from record.log import Event
from record.time_units import SECOND
from tests.analysis.claims.papers.semi_probabilistic.variants import declared, measured, variant, write_logs


def test_delivery_by_horizon_compares_each_with_the_one_before() -> None:
    points = zip((0.2, 0.5, 0.6, 0.54), (40, 50, 30, 30), strict=True)
    variants = [variant(f"phi-{number}", ratio, sent, setup=20) for number, (ratio, sent) in enumerate(points)]
    saved = (30 * EVENTS + 20) / (50 * EVENTS + 20)
    found = measured("delivery by horizon", variants)
    assert found == pytest.approx((2.5, 0.1, 0.9, 40 * EVENTS + 20, saved))


def test_a_run_without_due_notifications_gives_no_number() -> None:
    variants = [variant(f"{point}phi-{horizon}") for point in ("", "degree-9+") for horizon in range(4)]
    assert measured("delivery by horizon", variants)[:3] == (None, None, None)
    assert measured("delivery at degree 9", variants) == (None, None)


def test_two_ways_to_a_fanout_of_2() -> None:
    nine = [variant(f"degree-9+phi-{number}", 0.8 + number / 10, copies=20 + number) for number in range(4)]
    five = [variant(f"degree-5+phi-{number}", number / 10, copies=10) for number in range(4)]
    assert measured("delivery at degree 9", nine) == (0.8, 0.9)
    assert measured("delivery at one half", five) == pytest.approx((0, 0.1, 0.2, 0.3, 10 * EVENTS))
    assert measured("messages by fanout", [*nine, *five]) == pytest.approx((2.0, 2.1, 2.2, 2.3))


def test_thresholds_are_compared_by_delivery_and_messages() -> None:
    points = {"tau-0.5.phi-0": (0.99, 800), "tau-0.1.phi-1": (0.8, 30), "tau-0.2.phi-1": (1.0, 200)}
    variants = [variant(name, *point) for name, point in (points | {"tau-0.2.phi-2": (0.98, 100)}).items()]
    assert measured("delivery by threshold", variants) == pytest.approx((0.8, 1.0, 0.99, 0.98, 4.0, 0.5, 0.125))


def test_a_variant_that_is_missing_is_named() -> None:
    with pytest.raises(ClaimsError, match=r"no variant degree-9\+phi-1"):
        measured("delivery at degree 9", [variant("degree-9+phi-0", 0.25)])


def test_without_the_limit_of_the_threshold_the_worse_horizon_counts() -> None:
    points = {"limited+phi-2": (0.5, 10), "limited+phi-3": (0.5, 10)}
    points |= {"unlimited+phi-2": (1.0, 30), "unlimited+phi-3": (0.6, 25)}
    variants = [variant(name, *point) for name, point in points.items()]
    assert measured("without limit", variants) == pytest.approx((0.2, 0.25))


def test_entries_are_counted_at_the_end_of_the_run_without_own_subscriptions(tmp_path: Path) -> None:
    received = Event.RECEIVED
    records = [
        *(declared(f"phi-{number}", "A", received, "subscribe", None, "s") for number in (1, 2, 3)),
        declared("phi-1", "B", received, "subscribe", "A", "A.1.1"),
        declared("phi-2", "B", received, "subscribe", "A", "A.1.1"),
        declared("phi-2", "B", received, "unsubscribe", "A", "A.1.1"),
        declared("phi-3", "B", received, "subscribe", "A", "A.1.1"),
        declared("phi-3", "B", received, "subscribe", "A", "A.1.1"),
        declared("phi-3", "B", received, "subscribe", "C", "A.1.1"),
        declared("phi-3", "C", received, "subscribe", "B", "A.1.1"),
        declared("phi-3", "C", Event.SENT, "subscribe", "B", "A.1.1"),
        declared("phi-3", "A", received, "subscribe", "B", "A.1.1"),
        declared("phi-3", "C", received, "unsubscribe", "B", "A.1.1", time=5 * SECOND),  # clients leave after the run
    ]
    write_logs(tmp_path, records)
    variants = [variant(f"phi-{number}") for number in range(4)]
    # A client made one subscription, so subscription forwarding needs one entry at each of three brokers.
    assert measured("table sizes", variants, tmp_path) == pytest.approx((1 / 3, 2 / 3, -1 / 3))
