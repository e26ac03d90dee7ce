"""Publications that go in circles cost what others cost: work grows with the records, however long the routes are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from analysis import judging
from analysis.engines import PlainEngine
from analysis.judging.journeys.paths import Paths
from analysis.judging.publication_stage import CIRCLES
from analysis.pipeline import analyze
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_table
from analysis.tables.summary import Summary
from record.log import Event
from tests.analysis.history import DRIVER, History, joined, write_run
from topology.link_properties import Link
from topology.model import Broker, Overlay

BROKERS = 4
RING = Overlay(
    "ring",
    tuple(Broker(f"B{number}") for number in range(BROKERS)),
    tuple(Link(f"B{number}", f"B{(number + 1) % BROKERS}") for number in range(BROKERS)),
)
ROOM = str(Path(judging.__file__).parent)


def circling(hops: int, notifies: bool) -> History:
    """A publication that goes round the ring; it is lost, or its client is notified each time that it comes by."""
    history = joined("base").publish("P:1", 101, price=100)
    for hop in range(hops):
        time = 101 + 0.001 * (hop + 1)
        before, at, after = (f"B{(hop + step) % BROKERS}" for step in (-1, 0, 1))
        copy = {"kind": "publish", "id": "P:1"}
        history.add(at, Event.RECEIVED, time, **copy, peer=before if hop else None, hops=hop)
        history.add(at, Event.SENT, time + 0.0001, **copy, peer=after, hops=hop + 1, duration=0)
        if notifies and at == "B1":
            history.add(DRIVER, Event.NOTIFIED, time + 0.0005, **copy, client="S", peer=at, hops=hop)
    return history


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The work of the judge while the context is open: lines that run, once for each round of a loop, and brokers on
    the paths that are made."""
    work = [0]
    brokers = Paths.brokers

    def made(paths: Paths, arrival: int) -> tuple[str, ...]:
        path = brokers(paths, arrival)
        work[0] += len(path)
        return path

    def line(_frame: FrameType, _event: str, _argument: object) -> Any:
        work[0] += 1
        return line

    def call(frame: FrameType, _event: str, _argument: object) -> Any:
        return line if frame.f_code.co_filename.startswith(ROOM) else None

    with monkeypatch.context() as patch:
        patch.setattr(Paths, "brokers", made)
        former = sys.gettrace()
        sys.settrace(call)
        try:
            yield work
        finally:
            sys.settrace(former)


def judged(directory: Path, hops: int, notifies: bool) -> Summary:
    return analyze(write_run(directory, [circling(hops, notifies)], overlay=RING), PlainEngine())


@pytest.mark.parametrize("notifies", [False, True])
def test_work_is_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notifies: bool) -> None:
    judged(tmp_path / "first", 10, notifies)
    amounts = []
    for hops in (50, 200, 800):
        with counted(monkeypatch) as work:
            judged(tmp_path / str(hops), hops, notifies)
        amounts.append(work[0])
    few, more, most = amounts
    assert most - more <= 4.1 * (more - few), f"four times the records, but not at most four times the work: {amounts}"


def test_paths_in_circles_are_held_up_to_a_length(tmp_path: Path) -> None:
    (example,) = judged(tmp_path / "lost", 100, notifies=False).variants[0].delivery.examples
    assert [len(path) for path in example.paths] == [CIRCLES * BROKERS]
    judged(tmp_path / "notified", 100, notifies=True)
    rows = read_table(tmp_path / "notified" / "results", Notification)
    assert len(rows) == 25
    for row in rows:
        held = row.hops is not None and row.hops < CIRCLES * BROKERS
        assert (row.path is not None) is held
        assert row.path is None or len(row.path) == (row.hops or 0) + 1
