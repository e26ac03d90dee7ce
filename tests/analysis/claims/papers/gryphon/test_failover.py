"""Two crashes of three brokers: rates of groups, starts of late clients, and load of brokers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from analysis.claims import ClaimsError
from analysis.claims.figures import FigureRecipe, draw
from analysis.claims.measured_run import MeasuredRun
from analysis.tables.deliveries import Expectation, Notification, Right
from analysis.tables.timeline import Fault
from tests.analysis.claims.papers.gryphon.small_runs import (
    expected,
    kill,
    loads,
    measured,
    notification,
    run_of,
    subscription,
    variant,
)

GROUPS = (2, 1)
"""S1 and S2, and S3."""


def rates(directory: Path, due: Iterable[Expectation], got: Iterable[Notification]) -> tuple[float, int, str]:
    made = variant("v", notifications=tuple(got))
    found = measured(run_of(directory, [made], tables={Expectation: due}), "rates of groups", *GROUPS)
    return found.values[0] or 0.0, found.checked, found.example


def steady(seconds: int) -> list[Expectation]:
    """Twenty publications a second for S1 and S2 each."""
    times = [place / 20 for place in range(20 * seconds)]
    return [expected(f"P:{time}", client, time) for time in times for client in ("S1", "S2")]


def arrivals(due: Iterable[Expectation], late: float = 0.0) -> list[Notification]:
    return [
        notification(row.publication, row.client, (row.published_ns or 0) / 1e9 + late)
        for row in due
        if row.notifications
    ]


def test_a_steady_rate_violates_nothing(tmp_path: Path) -> None:
    due = steady(3)
    assert rates(tmp_path, due, arrivals(due)) == (0, 3, "")


def test_rates_are_drawn_second_by_second(tmp_path: Path) -> None:
    made = run_of(tmp_path, [variant("v", notifications=tuple(arrivals(steady(3))))])
    drawn = draw(made, FigureRecipe(figure="x", quantity="rates of groups", arguments=GROUPS))
    assert {curve.name: curve.y[:4] for curve in drawn.curves} == {"group 1": [40, 40, 40, 0], "group 2": [0, 0, 0, 0]}


def test_a_second_with_less_than_95_in_100_is_a_violation(tmp_path: Path) -> None:
    due = steady(3)
    delayed = [notification("P:1.0", "S1", 2.5), notification("P:1.0", "S2", 2.5), notification("P:1.05", "S1", 2.5)]
    got = [
        row
        for row in arrivals(due)
        if (row.publication, row.client) not in {(d.publication, d.client) for d in delayed}
    ]
    assert rates(tmp_path, due, [*got, *delayed]) == (1, 3, "group 1 got 37 of 40 in second 1")


def test_two_late_ones_of_forty_are_no_violation_but_a_lost_one_is(tmp_path: Path) -> None:
    lost = expected("P:9", "S3", 1.0, notifications=0)
    due = [*steady(3), *(expected(f"P:{number}", "S3", 1.0) for number in range(100, 130)), lost]
    assert rates(tmp_path, due, arrivals(due)) == (1, 4, "")


def test_what_clients_may_get_is_not_owed(tmp_path: Path) -> None:
    due = [*steady(2), expected("P:9", "S3", 1.0, notifications=0, right=Right.MAY)]
    assert rates(tmp_path, due, arrivals(due)) == (0, 2, "")


def test_late_clients_must_start_within_a_second(tmp_path: Path) -> None:
    got = (notification("P:1", "S3", 5.9), notification("P:1", "S4", 6.1), notification("P:1", "S1", 1.0))
    subscribed = [subscription("S1", 0), *(subscription(client, 5) for client in ("S3", "S4", "S5"))]
    run = run_of(tmp_path, [variant("v", notifications=got)], subscribed)
    found = measured(run, "late starts", 2, 3)
    assert (found.values, found.checked) == ((2,), 3)
    assert found.example.startswith("S4: ")


def crashed(directory: Path, faults: Iterable[Fault], survivor: Iterable[float]) -> MeasuredRun:
    shares = {
        "ib1": [0.04] * 5 + [0.0] * 15 + [0.02] * 10,
        "ib2": [0.04] * 10 + [0.0] * 8 + [0.02] * 12,
        "ib3": survivor,
    }
    made = variant("v", ("pb", *shares), loads=loads(shares), run_seconds=30.0)
    return run_of(directory, [made], [subscription("S3", 15)], {Fault: faults})


def test_the_load_of_the_broker_that_survives(tmp_path: Path) -> None:
    survivor = [0.0] * 5 + [0.04] * 5 + [0.088] * 8 + [0.022] * 12
    run = crashed(tmp_path, [kill("ib2", 10, 8), kill("ib1", 5, 15)], survivor)
    idle, equal, doubled, shared = measured(run, "load in crashes", *GROUPS).values
    assert idle == pytest.approx(0.1)
    assert equal == pytest.approx(0.1)
    assert doubled == pytest.approx(0.1 - 0.1)
    assert shared == pytest.approx(0.1 - 0.1)


def test_two_crashes_are_needed(tmp_path: Path) -> None:
    with pytest.raises(ClaimsError, match="1 crashes"):
        measured(crashed(tmp_path, [kill("ib1", 5, 15)], [0.1] * 30), "load in crashes", *GROUPS)
