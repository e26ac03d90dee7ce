"""Latencies of deliveries and of starts over three distances."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.claims import ClaimsError
from analysis.claims.figures import FigureRecipe, draw
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from record.log import TraceRecord
from record.time_units import SECOND
from tests.analysis.claims.papers.gryphon.small_runs import measured, notification, run_of, subscription, variant

DISTANCES = {3: (2.0, 10.0, 15.0), 6: (4.0, 10.0, 20.0), 9: (8.0, 12.0, 27.0)}
"""Milliseconds of a delivery, of a local start, and of a global one, by number of brokers."""


def made(brokers: int, latencies: tuple[float, float, float], began: int) -> MeasuredVariant:
    delivery, local, beyond = latencies
    notified = [("L", local), ("L", 100.0), ("G", beyond), ("G", 100.0), ("S", 1.0)]
    rows = tuple(
        notification(f"P:{number}", client, 20 + after / 1000, delay_ms=delivery)
        for number, (client, after) in enumerate(notified)
    )
    names = [f"B{number}" for number in range(brokers)]
    return variant(str(brokers), names, notifications=rows, run_began_ns=began)


def subscriptions(name: str) -> Iterator[TraceRecord]:
    yield subscription("S", 5, variant=name)  # in the join phase
    yield subscription("L", 20, 8, variant=name)
    yield subscription("G", 20, 9, variant=name)
    yield subscription("late", 20, 1, variant=name)  # never notified


def run(directory: Path, began: int = 10 * SECOND) -> MeasuredRun:
    variants = [made(brokers, latencies, began) for brokers, latencies in DISTANCES.items()]
    return run_of(directory, reversed(variants), [record for each in variants for record in subscriptions(each.name)])


def test_latencies_are_medians_of_each_distance(tmp_path: Path) -> None:
    found = measured(run(tmp_path), "latencies", 8).values
    assert found == pytest.approx((2, 4, 8, 10, 10, 12, 15, 20, 27))


def test_latencies_are_curves_over_the_brokers_between_the_ends(tmp_path: Path) -> None:
    drawn = draw(run(tmp_path), FigureRecipe(figure="x", quantity="latencies by distance", arguments=(8,)))
    assert [curve.x for curve in drawn.curves] == [[1, 4, 7]] * 3
    assert [curve.y for curve in drawn.curves] == [pytest.approx(y) for y in ((2, 4, 8), (10, 10, 12), (15, 20, 27))]


def test_latencies_are_compared_with_those_of_the_shortest_distance(tmp_path: Path) -> None:
    found = measured(run(tmp_path), "latency ratios", 8).values
    assert found == pytest.approx((2.0, 4.0, 1.0, 1.2, 10 / 5, 15 / 5))


def test_growth_is_judged_by_its_increments(tmp_path: Path) -> None:
    delivery, local, beyond = measured(run(tmp_path), "latency growth", 8).values
    assert delivery == pytest.approx(0.2 - 1.0), "4 ms after 2 ms"
    assert local == pytest.approx(0.0)
    assert beyond == pytest.approx(0.2 - 0.4), "7 ms after 5 ms"


def test_subscriptions_of_the_join_phase_do_not_count(tmp_path: Path) -> None:
    with pytest.raises(ClaimsError, match="no subscriptions in the run phase"):
        measured(run(tmp_path, began=30 * SECOND), "latency ratios", 8)
