"""Journeys of hand-written logs: what each record becomes, and what a log does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.trace import Choice, make_trace
from record.errors import RunDirectoryError
from record.log import Event
from record.time_units import MILLISECOND, SECOND
from tests.analysis.history import History, across, write_run
from tests.analysis.trace.handmade import START, at, copied, half_a_journey, left, ms, notified, whole_journey
from tests.analysis.trace.viewed import Viewed, view


def traced(directory: Path, history: History, choice: Choice | None = None) -> Viewed:
    run = write_run(directory / "run", [history])
    analyze(run, PlainEngine())
    file = directory / "journeys.pftrace"
    make_trace(run, choice or Choice(), file)
    return view(file.read_bytes())


def test_each_stretch_of_a_way_is_a_slice(tmp_path: Path) -> None:
    viewed = traced(tmp_path, whole_journey())
    (seen,) = viewed.notifications
    way = [
        (part.process, part.track, (part.begin - START) / MILLISECOND, part.lasts / MILLISECOND)
        for part in viewed.way_to(seen)
    ]
    assert way == [
        ("clients of B1", "P publishes", 0, 5),
        ("broker B1", "handling", 5, 1),
        ("broker B1", "queue → B2", 6, 10),
        ("broker B1", "link → B2", 16, 10),
        ("broker B2", "waiting", 26, 4),
        ("broker B2", "handling", 30, 1),
        ("broker B2", "queue → B3", 31, 0),
        ("broker B2", "link → B3", 31, 10),
        ("broker B3", "handling", 41, 2),
        ("clients of B3", "S is notified", 43, 7),
    ]
    assert seen.facts == {"delay in ns": ms(50)}
    work = viewed.on("broker B1", "router")
    assert [(part.name, part.depth, part.lasts) for part in work] == [("P:1", 0, ms(1)), ("compared", 1, ms(0.5))]
    assert work[0].facts == {"matches": 2}
    sending = [part for part in viewed.slices if part.name == "is sent"]
    assert [(part.begin - START, part.lasts, part.depth) for part in sending] == [
        (ms(16), ms(2), 1),
        (ms(31), ms(2), 1),
    ]


def test_a_lost_one_is_marked_with_its_last_record(tmp_path: Path) -> None:
    history = half_a_journey().add("B2", Event.DROPPED, at(32), kind="publish", id="P:1", peer="B3", text="full")
    viewed = traced(tmp_path, history, Choice(worst=0, sample=0))
    dropped, lost = sorted(viewed.instants, key=lambda instant: instant.name)
    assert (dropped.process, dropped.facts) == ("broker B2", {"reason": "full", "neighbour": "B3"})
    assert (lost.name, lost.process, lost.begin) == ("lost: P:1 to S", "clients of B3", START + ms(32))
    assert "B2" in str(lost.facts["last seen"])
    assert viewed.notifications == []


def test_two_copies_over_a_link_have_a_way_each(tmp_path: Path) -> None:
    """A network that repeats a message: both arrivals come from one departure, and the notification from the last."""
    history = half_a_journey()
    copied(history, "B3", 41, 41, "B2", 2)
    copied(history, "B3", 45, 46, "B2", 2)
    viewed = traced(tmp_path, notified(history))
    (seen,) = viewed.notifications
    links = [(part.begin - START, part.end - START) for part in viewed.on("broker B2", "link → B3") if not part.depth]
    assert links == [(ms(31), ms(41)), (ms(31), ms(45))]
    assert sum(part.lasts for part in viewed.way_to(seen)) == ms(50)
    assert viewed.on("broker B3", "waiting")[0].arriving


def test_a_stretch_without_records_is_said_to_be_one(tmp_path: Path) -> None:
    """Brokers that logged nothing of a publication: its way is one slice, as long as the delay."""
    history = across("base").publish("P:1", 110)
    viewed = traced(tmp_path, notified(history))
    (seen,) = viewed.notifications
    missing, last = viewed.way_to(seen)
    assert (missing.name, missing.lasts, last.lasts) == ("P:1: not in the log", ms(50), 0)


def test_clocks_that_contradict_each_other_make_no_gap(tmp_path: Path) -> None:
    """The clock of B3 is behind: the message arrives there before it was sent, and has its turn afterwards."""
    history = half_a_journey()
    copied(history, "B3", 30, 33, "B2", 2)
    viewed = traced(tmp_path, notified(history))
    (seen,) = viewed.notifications
    assert viewed.wrong_ways([("P:1", "S", ms(50))]) == []
    assert len(viewed.way_to(seen)) > 8


def test_times_are_the_scenarios_and_counters_are_there(tmp_path: Path) -> None:
    history = whole_journey()
    for second, queue in ((109, 0), (111, 4), (112, 0)):
        history.add("B1", Event.QUEUE, second, peer="B2", queue=queue, count=queue + 1)
        history.add("B1", Event.LOAD, second, count=1, duration=ms(250) * (second - 108))
    history.add("B2", Event.LINK_DOWN, 111, peer="B3")
    viewed = traced(tmp_path, history)
    assert viewed.counters["broker B1", "waiting for B2"] == [
        (109 * SECOND, 0), (111 * SECOND, 4), (112 * SECOND, 0)
    ]  # fmt: skip
    assert viewed.counters["broker B1", "in flight to B2"][1] == (111 * SECOND, 5)
    assert viewed.counters["broker B1", "processor"] == [(111 * SECOND, 250), (112 * SECOND, 250)]
    assert [instant.name for instant in viewed.instants] == ["link down B3"]


def test_a_run_that_was_not_analysed_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [whole_journey()])
    with pytest.raises(RunDirectoryError, match="it has no tables; `brokerlab analyze"):
        make_trace(run, Choice(), tmp_path / "journeys.pftrace")


def test_a_later_arrival_did_not_cause_what_waited_in_a_queue_before(tmp_path: Path) -> None:
    history = across("base").publish("P:1", 110)
    copied(history, "B2", 5, 5, None, 0)
    copied(history, "B2", 20, 20, "B1", 1)
    left(history, "B2", "B3", 7, 40, 1)
    copied(history, "B3", 45, 45, "B2", 1)
    viewed = traced(tmp_path, history)
    (link,) = [part for part in viewed.on("broker B2", "link → B3") if not part.depth]
    _, handling, queued, _ = viewed.way_to(link)
    assert (handling.begin - START, handling.lasts, queued.lasts) == (ms(5), ms(2), ms(33))
