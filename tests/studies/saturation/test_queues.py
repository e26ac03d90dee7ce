"""Queues that grow are told from queues that follow their workload."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analysis.tables.traffic import QueueLength
from studies.saturation.queues import QueueCourse


def row(second: int, queue: int, neighbour: str = "B2") -> QueueLength:
    return QueueLength(variant="base", broker="B1", neighbour=neighbour, second=second, queue=queue, in_flight=0)


def course(length: Callable[[int], int], seconds: int = 30) -> QueueCourse:
    return QueueCourse.of([row(second, length(second)) for second in range(seconds)], seconds)


@pytest.mark.parametrize(
    ("length", "grows"),
    [
        (lambda second: 4 * second, True),
        (lambda second: 100, False),
        (lambda second: second % 5, False),
        (lambda second: 300 if second < 10 else 0, False),
        (lambda second: 0 if second < 20 else 4, False),
        (lambda second: max(0, 10 * (second - 15)), True),
    ],
)
def test_growth(length: Callable[[int], int], grows: bool) -> None:
    assert course(length).grows is grows


def test_the_means_are_those_of_the_thirds() -> None:
    found = course(lambda second: second, seconds=9)
    assert (found.middle, found.last) == (4.0, 7.0)


def test_a_silent_gauge_stays_as_it_is_and_queues_add_up() -> None:
    rows = [row(-2, 9), row(0, 6), row(4, 0), row(1, 2, "B3"), row(8, 100, "B4")]
    found = QueueCourse.of(rows, 6)
    assert (found.middle, found.last) == (8.0, 2.0)


def test_a_run_without_queues_does_not_grow() -> None:
    assert not QueueCourse.of([], 10).grows
