"""Router work: from records of brokers to the table, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.judging.journeys.router_work import Arrival, Comparison, path_selections
from analysis.pipeline import analyze
from analysis.reading.publication_events import UNKNOWN
from analysis.tables.broker_work import RouterWork
from analysis.tables.results import read_table
from record.log import Event
from tests.analysis.history import History, joined, write_run

MICROSECOND = 1000


def arrived(broker: str, time: int, worked: int) -> Arrival:
    return Arrival(broker, time, worked)


def compared(broker: str, time: int, took: int) -> Comparison:
    return Comparison(broker, time, took)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([arrived("B1", 10, 30), compared("B1", 25, 20)], [("B1", 10)], id="a comparison is no selection"),
        pytest.param([arrived("B1", 10, 30), compared("B2", 25, 20)], [("B1", 30)], id="another broker's comparison"),
        pytest.param(
            [arrived("B1", 10, 30), compared("B1", 12, 20), arrived("B1", 100, 5)],
            [("B1", 10), ("B1", 5)],
            id="the second arrival was not compared",
        ),
        pytest.param(
            [arrived("B1", 10, 30), arrived("B1", 100, 50), compared("B1", 102, 20)],
            [("B1", 30), ("B1", 30)],
            id="the first arrival was not compared",
        ),
        pytest.param(
            [arrived("B1", 10, 30), arrived("B1", 10, 50), compared("B1", 10, 20), compared("B1", 10, 25)],
            [("B1", 10), ("B1", 25)],
            id="both in a moment of virtual time",
        ),
        pytest.param([arrived("B1", 10, 0), compared("B1", 10, 0)], [], id="a virtual clock stands still"),
        pytest.param([arrived("B1", 10, UNKNOWN)], [], id="not measured"),
        pytest.param([compared("B1", 10, 7)], [], id="the log lost the arrival"),
    ],
)
def test_path_selection_is_what_an_arrival_took_less_its_comparisons(
    events: list[Arrival | Comparison], expected: list[tuple[str, int]]
) -> None:
    arrivals = [event for event in events if isinstance(event, Arrival)]
    comparisons = [event for event in events if isinstance(event, Comparison)]
    assert list(path_selections(arrivals, comparisons)) == expected
    assert list(path_selections(arrivals, reversed(comparisons))) == expected


def worked(history: History, number: int, matching: int, selection: int) -> None:
    """A publication at two brokers, one of which compares it. Microseconds."""
    id, at = f"P:{number}", 110.0 + number
    history.publish(id, at)
    whole = (matching + selection) * MICROSECOND
    history.add("B1", Event.RECEIVED, at, client="P", id=id, kind="publish", hops=0, duration=whole)
    history.add("B1", Event.MATCHED, at, id=id, kind="publish", count=1, duration=matching * MICROSECOND)
    history.add(
        "B2", Event.RECEIVED, at + 0.1, peer="B1", id=id, kind="publish", hops=1, duration=selection * MICROSECOND
    )
    history.add("driver", Event.NOTIFIED, at + 0.2, client="S", id=id, peer="B2", hops=1)


def test_the_table_and_the_summary(tmp_path: Path) -> None:
    """A hundred publications; the variant `simulated` has the same ones, on a clock that stands still."""
    real, simulated = joined("real"), joined("simulated")
    for number in range(1, 101):
        worked(real, number, matching=number, selection=1000)
        worked(simulated, number, matching=0, selection=0)
    run = write_run(tmp_path / "run", [real, simulated])
    summary = analyze(run, PlainEngine())
    rows = {(row.broker, row.work): row for row in read_table(run / "results", RouterWork)}
    assert set(rows) == {("B1", "matching"), ("B1", "path selection"), ("B2", "path selection")}
    matching = rows["B1", "matching"]
    assert (matching.variant, matching.count, matching.mean_us, matching.max_us) == ("real", 100, 50.5, 100.0)
    assert 50 <= matching.p50_us <= 50 * 1.024
    assert 95 <= matching.p95_us <= 95 * 1.024
    assert 99 <= matching.p99_us <= 99 * 1.024
    assert rows["B2", "path selection"].mean_us == 1000.0
    of_real, of_simulated = summary.variants
    assert [(one.work, one.count, one.mean_us) for one in of_real.router_work] == [
        ("matching", 100, 50.5),
        ("path selection", 200, 1000.0),
    ]
    assert of_simulated.router_work == []
