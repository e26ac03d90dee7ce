"""The estimate of detections, against a count of all combinations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from broker_service.language import Value
from record.time_units import SECOND
from scenario.model import Scenario
from scenario.workload.detections import PublicationSample
from scenario.workload.generate import generate
from scenario.workload.operations import OperationKind, PlannedOperation

A, B, BOTH = "{[class,eq,'A']}", "{[class,eq,'B']}", "{[class,isPresent,'A']}"


def operation(at: float, **fields: object) -> PlannedOperation:
    values = {"operation": OperationKind.PUBLISH, "client": "P", "broker": "B1", "id": "P:1", **fields}
    return PlannedOperation(at=round(at * SECOND), **values)  # type: ignore[arg-type]


def composite(pattern: str, within: float) -> PlannedOperation:
    return operation(0, operation=OperationKind.COMPOSE, pattern=pattern, within=round(within * SECOND))


def contents(number: int) -> dict[str, Value]:
    return {"class": "AB"[number % 2], "x": number // 2 % 5}


TEN_EACH_SECOND = [operation(number / 10, attributes=contents(number)) for number in range(1_000)]


def pairs(within: float, *, same_x: bool) -> int:
    """The pairs of an A and a B in the window."""
    made = [(published.at / SECOND, published.attributes or {}) for published in TEN_EACH_SECOND]
    return sum(
        one["class"] == "A" and other["class"] == "B" and abs(at - later) <= within
        for (at, one), (later, other) in product(made, made)
        if not same_x or one["x"] == other["x"]
    )


@pytest.mark.parametrize("within", [2.05, 5.05, 20.05])
def test_pairs_are_estimated_within_a_fifth(within: float) -> None:
    sample = PublicationSample.of(TEN_EACH_SECOND, 1_000)
    assert sample.detections(composite(f"{A}&{B}", within)) == pytest.approx(pairs(within, same_x=False), rel=0.2)
    joined = "{[class,eq,'A'],[x,=,$I$X]}&{[class,eq,'B'],[x,=,$I$X]}"
    assert sample.detections(composite(joined, within)) == pytest.approx(pairs(within, same_x=True), rel=0.2)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (A, 500),
        (f"{A}||{B}", 1_000),
        (f"{{{A}&{B}}}||{A}", 250_500),
        (f"{A}&{B}&{BOTH}", 250_000_000),
        ("{[class,eq,'C']}", 0),
        ("{[class,eq,'A'],[x,=,$I$X]}||{[class,eq,'B'],[x,=,$I$X]}", 1_000),
        ("{[class,eq,'A'],[x,=,$I$X]}&{{[class,eq,'B'],[x,=,$I$X]}||{[class,eq,'B']}}", 50_000 + 250_000),
    ],
)
def test_all_combinations_count_where_the_window_holds_the_run(pattern: str, expected: int) -> None:
    sample = PublicationSample.of(TEN_EACH_SECOND, 1_000)
    assert sample.detections(composite(pattern, 1_000)) == pytest.approx(expected)


def test_a_sample_stands_for_the_whole() -> None:
    """Ten times as many publications at the same rate make ten times as many detections."""
    long = [operation(number / 10, attributes=contents(number)) for number in range(2_000)]
    whole = PublicationSample.of(long, 20_000).detections(composite(f"{A}&{B}", 1))
    part = PublicationSample.of(TEN_EACH_SECOND, 1_000).detections(composite(f"{A}&{B}", 1))
    assert whole == pytest.approx(20 * part, rel=0.05)
    assert PublicationSample.of([], 0).detections(composite(f"{A}&{B}", 1)) == 0


def test_composite_subscriptions_among_the_operations(make_scenario: Callable[..., Scenario]) -> None:
    written = [
        {"at": "1s", "client": "C", "broker": "B1", "id": "c1", "composite": f"{A} & ({B})", "within": "2s"},
        {"at": "1s", "client": "C", "broker": "B1", "id": "c2", "composite": A},
        {"at": "12s", "client": "P", "broker": "B5", "publish": "[class,'A']"},
        {"at": "13s", "client": "P", "broker": "B5", "publish": "[class,'B']"},
    ]
    scenario = make_scenario(workload={"operations": written})
    workload = generate(scenario, scenario.overlay())
    composites = [made for made in workload.operations() if made.operation is OperationKind.COMPOSE]
    assert [(made.id, made.pattern, made.within) for made in composites] == [
        ("c1", "{{[class,eq,'A']}&{[class,eq,'B']}}", 2 * SECOND),
        ("c2", "{[class,eq,'A']}", 60 * SECOND),
    ]
    assert workload.detections() == [1, 1]
    assert (workload.estimate().subscriptions, workload.estimate().notifications) == (2, 2)
    slower = generate(scenario, scenario.overlay())
    stretched = replace(slower, stretch=3)
    assert [made.within for made in stretched.operations() if made.pattern] == [6 * SECOND, 180 * SECOND]
    assert stretched.detections() == [1, 1]
