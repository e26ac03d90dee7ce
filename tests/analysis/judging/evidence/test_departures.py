"""Publications that overtook others in a queue shortly before an outage."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.judging.evidence.departures import Departures, LatestArrival, add_departures, departures_of
from analysis.judging.trace import Step, StepKind
from analysis.pipeline import analyze
from analysis.tables.totals import Rows
from record.log import Event
from tests.analysis.history import History, across, write_run

STEPS = [
    Step(StepKind.ARRIVED, 10, "B1"),
    Step(StepKind.SENT, 11, "B1", "B2"),
    Step(StepKind.ARRIVED, 20, "B2", "B1"),
    Step(StepKind.SENT, 25, "B2", "B3"),
]


def test_the_latest_arrival_counts_of_what_left_in_time() -> None:
    latest = Rows(LatestArrival)
    add_departures(latest, 0, [25, 30], STEPS)
    add_departures(latest, 0, [30], [Step(StepKind.ARRIVED, 22, "B2", "B1"), Step(StepKind.SENT, 26, "B2", "B3")])
    add_departures(latest, 0, [30], [Step(StepKind.ARRIVED, 23, "B2", "B1"), Step(StepKind.SENT, 30, "B2", "B3")])
    assert departures_of(0, latest) == Departures(
        left={(25, "B1", "B2"): 10, (30, "B1", "B2"): 10, (30, "B2", "B3"): 22},
        passed={(25, "B1", "B2"): 10, (30, "B1", "B2"): 10},
    )
    assert departures_of(1, latest) == Departures()


def on_its_way(history: History, id: str, at: float, *way: str) -> History:
    return history.publish(id, at).carry(id, at + 0.01, *way)


@pytest.mark.parametrize(
    ("other", "at", "verdict"),
    [(("B1", "B2", "B3"), 109.6, "lost"), (("B1", "B2", "B3"), 109.4, "correct"), (("B1", "B2"), 109.6, "correct")],
)
def test_a_broker_holds_nothing_that_a_later_one_overtook(
    tmp_path: Path, other: tuple[str, ...], at: float, verdict: str
) -> None:
    """P:2 comes to B2 half a second before that is killed, and P:3 leaves B2 before or after."""
    history = across("overtaken").publish("P:1", 105).carry("P:1", 105.01, "B1", "B2", "B3").notify(at=105.1)
    on_its_way(history, "P:2", 109.5, "B1", "B2")
    on_its_way(history, "P:3", at, *other)
    if len(other) == 3:
        history.notify("P:3", at=at + 0.1)
    summary = analyze(write_run(tmp_path / "run", [history.fault(110, peer="B2")]), PlainEngine())
    assert summary.delivery == [verdict]


@pytest.mark.parametrize(("takes_any", "verdict"), [(False, "correct"), (True, "lost")])
def test_what_has_left_for_a_broker_that_takes_nothing_is_held_still(
    tmp_path: Path, takes_any: bool, verdict: str
) -> None:
    """B2 has sent P:2 and P:3 to B3, and keeps both until that acknowledges them; B3 may be frozen."""
    history = across("sent").publish("P:1", 105).carry("P:1", 105.01, "B1", "B2", "B3").notify(at=105.1)
    for id, at in (("P:2", 109.2), ("P:3", 109.4)):
        on_its_way(history, id, at, "B1", "B2")
        history.add("B2", Event.SENT, at + 0.03, id=id, kind="publish", peer="B3")
    if takes_any:
        history.receive("P:3", 109.5, "B3", "B2", 2).notify("P:3", at=109.6)
    summary = analyze(write_run(tmp_path / "run", [history.fault(110, peer="B2")]), PlainEngine())
    assert summary.delivery == [verdict]
