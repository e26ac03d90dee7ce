"""Measures of a mobile network, on a small run whose results can be computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.claims.measured_run import MeasuredVariant
from record.log import Event
from record.time_units import SECOND
from tests.analysis.claims.papers.semi_probabilistic.variants import declared, measured, variant, write_logs

BEGIN = 7 * SECOND
DELIVERY = {"tau-0.25": (0.3, 0.6, 0.5, 0.4), "tau-0.5": (0.5, 0.8, 0.9, 0.6)}
COPIES = {"tau-0.25": (10, 12, 8, 20), "tau-0.5": (30, 40, 20, 35)}


@pytest.fixture
def variants(tmp_path: Path) -> list[MeasuredVariant]:
    """Two seconds of three brokers, which stand for 30 events; one variant has 60 changes of subscriptions."""
    changes = [
        declared("tau-0.25+phi-3", "B", Event.SENT, kind, "A", f"A.1.{number}", BEGIN + number)
        for number in range(30)
        for kind in ("subscribe", "unsubscribe")
    ]
    elsewhere = [
        declared("tau-0.25+phi-3", "B", Event.SENT, "subscribe", "A", "A.1.1", BEGIN - 1),
        declared("tau-0.25+phi-3", "B", Event.SENT, "subscribe", "A", "A.1.1", BEGIN + 2 * SECOND),
        declared("tau-0.25+phi-3", "B", Event.RECEIVED, "subscribe", "A", "A.1.1", BEGIN + 1),
    ]
    write_logs(tmp_path, [*changes, *elsewhere])
    return [
        variant(f"{point}+phi-{number}", ratio, COPIES[point][number], run_seconds=2.0, run_began_ns=BEGIN)
        for point, ratios in DELIVERY.items()
        for number, ratio in enumerate(ratios)
    ]


def test_the_cheap_variant_is_compared_with_the_random_one(variants: list[MeasuredVariant], tmp_path: Path) -> None:
    assert measured("mobile network", variants, tmp_path) == pytest.approx((0.5, 1.2, 12 / 30))


def test_the_order_of_deliveries(variants: list[MeasuredVariant], tmp_path: Path) -> None:
    assert measured("order in a mobile network", variants, tmp_path) == pytest.approx((0.2, 0.2))


def test_changes_of_the_run_count_as_messages(variants: list[MeasuredVariant], tmp_path: Path) -> None:
    found = measured("messages in a mobile network", variants, tmp_path)
    assert found == pytest.approx((1.2, 0.8, 2.2, 3.0, 4.0, 2.0, 3.5))


def test_the_dearest_horizon_and_its_subscriptions(variants: list[MeasuredVariant], tmp_path: Path) -> None:
    low, high, by_subscriptions = measured("dearest horizon in a mobile network", variants, tmp_path)
    assert low == pytest.approx(22 / 12 - 1)
    assert high == pytest.approx(35 / 40 - 1)
    assert by_subscriptions == pytest.approx(2 / 14 - 0.5)
