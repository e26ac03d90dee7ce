"""The description of a workload: exact amounts, and shares that rest on samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import pytest

from analysis.report.sentences.load import load_rows, loads_beside
from record.load import Distribution, Load
from record.log import PredicateRecord
from record.time_units import SECOND
from scenario.workload.load_sketch import LoadSketch, sketched
from scenario.workload.operations import OperationKind, PlannedOperation
from tests.scenario.workload.file.conftest import FromFile
from tests.scenario.workload.file.conftest import from_file as from_file


def _sketch(operations: Iterable[PlannedOperation], stretch: float = 1.0) -> Load:
    sketch = LoadSketch("base", join=10, run=20, stretch=stretch)
    assert list(sketched(sketch, operations))
    return sketch.load()


def test_a_small_workload_is_counted_and_compared_as_a_whole(from_file: FromFile) -> None:
    load = _sketch(from_file().operations())
    amounts = load.amounts
    assert (amounts.advertisements, amounts.subscriptions, amounts.withdrawals, amounts.publications) == (1, 2, 1, 2)
    assert (amounts.publishers, amounts.subscribers) == (1, 2)
    assert (load.publications_compared, load.subscriptions_compared) == (2, 2)
    assert [place for place, count in enumerate(load.course.publications) if count] == [13, 18]
    assert load.course.seconds == 0.75
    # Bob's subscription stands at the first publication, which it does not match; Cleo's at the second, which it does.
    assert (load.matches, load.unmatched) == (Distribution(mean=0.5, p50=0, p95=1, most=1), 0.5)
    assert load.selectivity == Distribution(mean=0.5, p50=0, p95=1, most=1)
    assert load.popularity is None


def test_times_are_those_of_the_scenario_however_slow_the_run_is(from_file: FromFile) -> None:
    slower = [msgspec.structs.replace(made, at=made.at * 3) for made in from_file().operations()]
    assert _sketch(slower, stretch=3) == _sketch(from_file().operations())


def _turns() -> Iterator[PlannedOperation]:
    """A hundred subscriptions, each to one of eight publishers, which take turns."""
    for number in range(100):
        wanted = [PredicateRecord(attribute="n", operator="=", number=number % 8)]
        yield PlannedOperation(
            at=number,
            client=f"S{number}",
            broker="B1",
            operation=OperationKind.SUBSCRIBE,
            id="s1",
            predicates=wanted,
        )
    for number in range(16_000):
        client, content = f"P{number % 8}", {"class": "X", "n": number % 8}
        yield PlannedOperation(
            at=10 * SECOND + number,
            client=client,
            broker="B1",
            operation=OperationKind.PUBLISH,
            id=f"{client}:{number // 8 + 1}",
            attributes={**content},
        )


def test_publishers_that_take_turns_are_all_in_a_sample() -> None:
    load = _sketch(_turns())
    assert (load.publications_compared, load.subscriptions_compared) == (300, 100)
    assert load.busiest == pytest.approx(1 / 8)
    assert load.matches is not None
    assert load.matches.mean == pytest.approx(100 / 8, rel=0.05)
    assert load.selectivity is not None
    assert load.selectivity.mean == pytest.approx(1 / 8, rel=0.05)
    assert load.popularity is not None
    assert (load.popularity.attribute, len(load.popularity.values)) == ("n", 8)
    assert sum(one.wanted for one in load.popularity.values) == pytest.approx(1)
    assert _sketch(_turns()) == load


def test_matches_are_scaled_to_all_subscriptions() -> None:
    subscriptions = [
        PlannedOperation(
            at=number,
            client=f"S{number}",
            broker="B1",
            operation=OperationKind.SUBSCRIBE,
            id="s1",
            predicates=[PredicateRecord(attribute="class", operator="eq", string="X")],
        )
        for number in range(3_000)
    ]
    published = PlannedOperation(
        at=10 * SECOND, client="P", broker="B1", operation=OperationKind.PUBLISH, id="P:1", attributes={"class": "X"}
    )
    load = _sketch([*subscriptions, published])
    assert (load.subscriptions_compared, load.matches) == (300, Distribution(mean=3000, p50=3000, p95=3000, most=3000))


def _readings(*windows: float) -> Iterator[PlannedOperation]:
    """Composite subscriptions to two readings of a kind, and a reading of each of two kinds every second."""
    pattern = "{{[class,eq,'A']}&{[class,eq,'B']}}"
    for number, window in enumerate(windows):
        yield PlannedOperation(
            at=number, client=f"S{number}", broker="B1", operation=OperationKind.COMPOSE, id="c1",
            pattern=pattern, within=round(window * SECOND),
        )  # fmt: skip
    for second in range(100):
        for kind in "AB":
            yield PlannedOperation(
                at=(10 + second) * SECOND, client=kind, broker="B1", operation=OperationKind.PUBLISH,
                id=f"{kind}:{second}", attributes={"class": kind},
            )  # fmt: skip


def test_composite_subscriptions_are_compared() -> None:
    load = _sketch(_readings(0.5, 10.0))
    found = load.detections
    assert isinstance(found, Distribution)
    # Of the 10,000 pairs of an A and a B in 99 s, so many have times that lie within 0.5 s, and within 10 s.
    least, most = (10_000 * (2 * share - share**2) for share in (0.5 / 99, 10 / 99))
    assert (found.p50, found.most) == (pytest.approx(least), pytest.approx(most))
    assert load.amounts.composites == 2
    assert dict(load_rows(load))["Detections of a composite subscription"].endswith("at most")


def test_a_longer_run_has_the_same_detections() -> None:
    slower = [
        msgspec.structs.replace(made, at=made.at * 3, within=None if made.within is None else made.within * 3)
        for made in _readings(0.5)
    ]
    assert _sketch(slower, stretch=3).detections == _sketch(_readings(0.5)).detections


def test_without_composite_subscriptions_nothing_is_said_of_them(from_file: FromFile) -> None:
    load = _sketch(from_file().operations())
    assert load.detections is msgspec.UNSET
    told = loads_beside([load, _sketch(_readings(0.5))])
    assert dict(told)["Detections of a composite subscription"][0] == "none"
    assert all(len(values) == 2 for _, values in told)
