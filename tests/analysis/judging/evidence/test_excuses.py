"""Copies that were dropped, in a diamond where notifications of this run passed B2 and none passed B4."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from record.faults import FaultKind
from record.log import Event
from record.promises import Promises
from tests.analysis.diamond import DIAMOND, settled
from tests.analysis.history import History, across, write_run


def over_b2(history: History, at: float) -> History:
    """A publication takes its usual way, and its client is notified."""
    history.publish("P:1", at).add("B1", Event.RECEIVED, at + 0.01, id="P:1", kind="publish", hops=0)
    for number, (source, target) in enumerate((("B1", "B2"), ("B2", "B3")), start=1):
        sent, arrived = at + 0.02 * number, at + 0.02 * number + 0.01
        history.add(source, Event.SENT, sent, id="P:1", kind="publish", peer=target, duration=0)
        history.add(target, Event.RECEIVED, arrived, id="P:1", kind="publish", peer=source, hops=number)
    return history.add("driver", Event.NOTIFIED, at + 0.07, client="S", id="P:1", peer="B3", hops=2)


@pytest.mark.parametrize(("failed", "neighbour", "verdict"), [("B2", "B2", "correct"), ("B3", "B2", "lost")])
def test_a_drop_is_evidence_only_where_the_copy_was_for_the_broker_that_failed(
    tmp_path: Path, failed: str, neighbour: str, verdict: str
) -> None:
    """B1 drops a copy for B2 while the overlay recovers; B3 is further on the way."""
    history = over_b2(settled("dropped", Promises()), 103).fault(105, peer=failed).heal(106, peer=failed)
    history.publish("P:2", 110).add("B1", Event.RECEIVED, 110.01, id="P:2", kind="publish", hops=0)
    history.add("B1", Event.DROPPED, 110.02, id="P:2", kind="publish", peer=neighbour, text="output queue full")
    summary = analyze(write_run(tmp_path / "run", [history], overlay=DIAMOND), PlainEngine())
    assert summary.delivery == [verdict]


@pytest.mark.parametrize(("neighbour", "verdict"), [("B4", "correct"), ("B2", "lost"), (None, "lost")])
def test_a_drop_is_evidence_off_the_usual_ways_only_where_the_copy_was_for_the_broker_that_failed(
    tmp_path: Path, neighbour: str | None, verdict: str
) -> None:
    history = over_b2(settled("dropped", Promises()), 103).fault(105, peer="B4").publish("P:2", 110)
    history.add("B1", Event.RECEIVED, 110.01, id="P:2", kind="publish", hops=0)
    history.add("B1", Event.DROPPED, 110.02, id="P:2", kind="publish", peer=neighbour, text="neighbour restarted")
    summary = analyze(write_run(tmp_path / "run", [history], overlay=DIAMOND), PlainEngine())
    assert summary.delivery == [verdict]
    power = summary.variants[0].delivery.power
    assert power.implied == sum(power.excused.values())


@pytest.mark.parametrize(("reason", "verdict"), [("neighbour restarted", "correct"), ("output queue full", "lost")])
def test_what_waited_for_the_former_incarnation_is_excused_after_others_reached_the_new_one(
    tmp_path: Path, reason: str, verdict: str
) -> None:
    """Each link finds out by itself that its neighbour was restarted."""
    history = over_b2(settled("restarted", Promises()).fault(105, peer="B2").heal(110, peer="B2"), 112)
    history.publish("P:2", 113).add("B1", Event.RECEIVED, 113.01, id="P:2", kind="publish", hops=0)
    history.add("B1", Event.DROPPED, 113.02, id="P:2", kind="publish", peer="B2", text=reason)
    summary = analyze(write_run(tmp_path / "run", [history], overlay=DIAMOND), PlainEngine())
    assert summary.delivery == [verdict]


@pytest.mark.parametrize(("link", "verdict"), [("B2-B3", "correct"), ("B1-B2", "lost")])
def test_what_waited_for_a_cut_link_until_its_broker_was_killed_is_excused(
    tmp_path: Path, link: str, verdict: str
) -> None:
    """The record of a cut names the link, and the gauge is of one direction."""
    history = across("waited").publish("P:1", 105).carry("P:1", 105.01, "B1", "B2", "B3").notify(at=105.1)
    history.fault(109, FaultKind.LINK_DOWN, link).publish("P:2", 110).carry("P:2", 110.01, "B1", "B2")
    history.add("B2", Event.SENT, 110.03, id="P:2", kind="publish", peer="B3")
    history.add("B2", Event.QUEUE, 111, peer="B3", queue=0, count=1).fault(115, peer="B2")
    summary = analyze(write_run(tmp_path / "run", [history]), PlainEngine())
    assert summary.delivery == [verdict]
