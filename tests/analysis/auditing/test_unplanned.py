"""Links and brokers that go down by themselves are named, and so is work that was not issued as planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.auditing.edited import CALM, COMPOSED, KILLED, Line, edited, findings, recounted, run_of

LINKS, BROKERS = "links that went down by themselves", "brokers that started again by themselves"
PUBLICATIONS = "publications not issued as planned"
OPERATIONS = "subscriptions and advertisements not issued as planned"


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(CALM, tmp_path_factory.mktemp("calm"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(KILLED, tmp_path_factory.mktemp("killed"))


def broken_stream(records: list[Line]) -> list[Line]:
    """The log, in which the stream to B2 breaks amid the run."""
    middle = len(records) // 2
    down = {"time": records[middle]["time"], "node": "B1", "variant": "base", "event": "link_down", "peer": "B2"}
    return recounted([*records[:middle], down, *records[middle:]])


def test_a_stream_that_breaks_without_a_fault_is_named(calm: Path, tmp_path: Path) -> None:
    assert "B1-B2 broke 1 time" in findings(edited(calm, tmp_path / "run", {"B1": broken_stream}))[LINKS]


def test_streams_that_break_by_a_kill_are_explained(killed: Path) -> None:
    assert findings(killed) == {}


def test_a_restart_that_is_not_on_record_is_named(killed: Path, tmp_path: Path) -> None:
    def without_heals(records: list[Line]) -> list[Line]:
        return recounted([record for record in records if record["event"] != "healed"])

    found = findings(edited(killed, tmp_path / "run", {"emulator": without_heals}))
    assert "B2 started 2 times with 0 restarts on record" in found[BROKERS]


def test_another_content_than_planned_is_named(calm: Path, tmp_path: Path) -> None:
    def dearer(records: list[Line]) -> list[Line]:
        first = next(record for record in records if record["event"] == "publish")
        first["numbers"]["close"] += 0.01
        return records

    assert "another content" in findings(edited(calm, tmp_path / "run", {"publishers": dearer}))[PUBLICATIONS]


def test_another_subscription_than_planned_is_named(calm: Path, tmp_path: Path) -> None:
    def other(records: list[Line]) -> list[Line]:
        next(record for record in records if record["event"] == "subscribe")["predicates"].pop()
        return records

    assert "made others than planned" in findings(edited(calm, tmp_path / "run", {"subscribers": other}))[OPERATIONS]


def test_another_broker_than_planned_is_named(calm: Path, tmp_path: Path) -> None:
    def elsewhere(records: list[Line]) -> list[Line]:
        subscribed = next(record for record in records if record["event"] == "subscribe")
        subscribed["peer"] = next(broker for broker in ("B1", "B2") if broker != subscribed["peer"])
        return records

    found = findings(edited(calm, tmp_path / "run", {"subscribers": elsewhere}))[OPERATIONS]
    assert "at another broker, or with another window, than planned" in found


def test_another_window_than_planned_is_named(tmp_path: Path) -> None:
    def wider(records: list[Line]) -> list[Line]:
        next(record for record in records if record["event"] == "compose")["duration"] += 1
        return records

    run = run_of(COMPOSED, tmp_path)
    assert OPERATIONS not in findings(run)
    found = findings(edited(run, tmp_path / "run", {"subscribers": wider}))[OPERATIONS]
    assert "at another broker, or with another window, than planned" in found
