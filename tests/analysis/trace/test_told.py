"""Journeys in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.run_files.run_directory import open_run
from analysis.trace import Rate, Step, Told, Wanted, follow, read_records
from record.log import Event
from tests.analysis.history import History, across, write_run
from tests.analysis.trace.handmade import at, copied, half_a_journey, notified, whole_journey

WANTED = Wanted("base", "P:1", "S")


def told(directory: Path, *histories: History, wanted: Wanted = WANTED) -> Told:
    run = open_run(write_run(directory / "run", histories))
    read = read_records(run, {name: {wanted.publication} for name in run.overlays})
    return follow(run, read, [wanted]).journeys[wanted]


def test_the_way_of_a_notification(tmp_path: Path) -> None:
    other = copied(whole_journey("other"), "B2", 60, 60, "B1", 1)
    found = told(tmp_path, whole_journey(), other)
    assert [(step.where, step.took_ms) for step in found.steps] == [
        ("clients of B1: P publishes", 5),
        ("broker B1: handling (to B2)", 1),
        ("broker B1: queue → B2", 10),
        ("broker B1: link → B2", 10),
        ("broker B2: waiting", 4),
        ("broker B2: handling (to B3)", 1),
        ("broker B2: queue → B3", 0),
        ("broker B2: link → B3", 10),
        ("broker B3: handling (to S)", 2),
        ("clients of B3: S is notified", 7),
    ]
    assert [step.at_s for step in found.steps[:2]] == [10, pytest.approx(10.005)]
    assert sum(step.took_ms or 0 for step in found.steps) == 50


def test_both_ways_of_two_notifications(tmp_path: Path) -> None:
    """A copy that came twice: what both have in common is told once."""
    history = copied(whole_journey(), "B3", 55, 55, "B2", 2)
    found = told(tmp_path, notified(history, 60))
    assert [step.took_ms for step in found.steps if "is notified" in step.where] == [7, 5]
    assert [step.where for step in found.steps].count("broker B1: link → B2") == 1
    assert [step.where for step in found.steps].count("broker B2: link → B3") == 2


def test_everything_that_is_known_of_a_lost_one(tmp_path: Path) -> None:
    history = half_a_journey().add("B2", Event.DROPPED, at(32), kind="publish", id="P:1", peer="B3", text="full")
    found = told(tmp_path, history)
    assert found.steps[-1] == Step(10.032, None, "broker B2: dropped P:1, full, B3")
    assert [step.where for step in found.steps].count("broker B2: queue → B3") == 1
    assert told(tmp_path / "none", across("base").publish("P:1", 110)).steps == []


def test_long_journeys_are_cut_at_their_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.trace.told.MOST_STEPS", 3)
    found = told(tmp_path, whole_journey())
    assert found.left_out == 7
    assert [step.where for step in found.steps][-1] == "clients of B3: S is notified"


def test_rates_of_clients_are_by_the_second_of_the_run(tmp_path: Path) -> None:
    history = across("base").publish("P:1", 100).publish("P:2", 102.2).publish("P:3", 102.9).notify("P:2", at=103)
    run = open_run(write_run(tmp_path / "run", [history, across("other")]))
    read = read_records(run, {"base": [], "other": []})
    assert follow(run, read, []).rates == [Rate("base", 0, 1, 0), Rate("base", 2, 2, 0), Rate("base", 3, 0, 1)]
