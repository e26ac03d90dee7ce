"""Publications of which several copies leave a broker, one of which is lost with it: any may be the subscriber's."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from record.log import Event
from record.promises import Promises
from tests.analysis.diamond import DIAMOND, settled
from tests.analysis.history import History, write_run

BRANCHES = ("B2", "B4")


def leaves(history: History, id: str, at: float) -> History:
    """A publication leaves its publisher's broker for both neighbours."""
    history.publish(id, at).add("B1", Event.RECEIVED, at + 0.01, id=id, kind="publish", hops=0)
    for neighbour in BRANCHES:
        history.add("B1", Event.SENT, at + 0.02, id=id, kind="publish", peer=neighbour, duration=0)
    return history


def arrives(history: History, id: str, at: float, *neighbours: str) -> History:
    for neighbour in neighbours:
        history.add(neighbour, Event.RECEIVED, at, id=id, kind="publish", peer="B1", hops=1)
    return history


def delivered_by(history: History, id: str, at: float, way: str) -> History:
    arrives(leaves(history, id, at), id, at + 0.03, *BRANCHES)
    history.add(way, Event.SENT, at + 0.04, id=id, kind="publish", peer="B3", duration=0)
    history.add("B3", Event.RECEIVED, at + 0.05, id=id, kind="publish", peer=way, hops=2)
    return history.notify(id, at=at + 0.06)


@pytest.mark.parametrize(
    ("came", "verdict"), [(("B4",), "correct"), (("B2",), "correct"), (BRANCHES, "lost"), ((), "correct")]
)
def test_a_copy_that_never_came_may_have_been_the_subscribers(
    tmp_path: Path, came: tuple[str, ...], verdict: str
) -> None:
    history = settled("branches", Promises())
    for place, way in enumerate(BRANCHES):
        delivered_by(history, f"P:{place + 1}", 105.0 + place, way)
    arrives(leaves(history, "P:3", 109.5), "P:3", 109.6, *came).fault(110, "kill", "B1")
    summary = analyze(write_run(tmp_path / "run", [history], overlay=DIAMOND), PlainEngine())
    assert summary.variants[0].delivery.verdicts == [verdict]


@pytest.mark.parametrize(("left", "verdict"), [(("B4",), "correct"), (("B2",), "correct"), (BRANCHES, "lost")])
def test_where_no_way_was_seen_a_copy_that_had_not_left_may_have_been_the_subscribers(
    tmp_path: Path, left: tuple[str, ...], verdict: str
) -> None:
    history = settled("branches", Promises())
    history.publish("P:1", 109.5).add("B1", Event.RECEIVED, 109.51, id="P:1", kind="publish", hops=0)
    for neighbour in left:
        history.add("B1", Event.SENT, 109.52, id="P:1", kind="publish", peer=neighbour, duration=0)
    arrives(history, "P:1", 109.6, *left).fault(110, "kill", "B1")
    summary = analyze(write_run(tmp_path / "run", [history], overlay=DIAMOND), PlainEngine())
    assert summary.variants[0].delivery.verdicts == [verdict]
