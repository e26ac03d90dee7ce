"""Logs that lack records, lines or ends make a run INVALID, with the node and both numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.auditing.edited import CALM, KILLED, Line, edited, findings, run_of


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(CALM, tmp_path_factory.mktemp("calm"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(KILLED, tmp_path_factory.mktemp("killed"))


def test_whole_logs_are_valid_and_state_how_much_they_hold(calm: Path, killed: Path) -> None:
    assert findings(calm) == findings(killed) == {}


def test_a_record_that_is_missing_is_counted_at_its_node(calm: Path, tmp_path: Path) -> None:
    def without_one(records: list[Line]) -> list[Line]:
        loads = [number for number, record in enumerate(records) if record["event"] == "load"]
        return records[: loads[3]] + records[loads[3] + 1 :]

    found = findings(edited(calm, tmp_path / "run", {"B2": without_one}))
    assert list(found) == ["records missing from logs"]
    assert found["records missing from logs"].startswith("B2 wrote ")


def test_a_record_that_was_added_is_counted_too(calm: Path, tmp_path: Path) -> None:
    def with_one_behind(records: list[Line]) -> list[Line]:
        return [*records, {**records[3], "event": "lag"}]

    found = findings(edited(calm, tmp_path / "run", {"B3": with_one_behind}))
    assert "B3 has 1 record outside of its starts and ends" in found["records missing from logs"]


def test_counts_are_those_of_each_incarnation(killed: Path, tmp_path: Path) -> None:
    def without_one_at_the_end(records: list[Line]) -> list[Line]:
        return [*records[:-3], *records[-2:]]

    found = findings(edited(killed, tmp_path / "run", {"B2": without_one_at_the_end}))
    assert "B2 wrote" in found["records missing from logs"]
    assert "since its start number 2" in found["records missing from logs"]


@pytest.mark.parametrize("node", ["subscribers", "B1"])
def test_a_log_that_breaks_off_is_named(calm: Path, tmp_path: Path, node: str) -> None:
    found = findings(edited(calm, tmp_path / "run", {node: lambda records: records[: len(records) // 2]}))
    assert found["logs that break off"].startswith(f"{node} has no end: ")


def test_the_log_of_the_faults_has_an_end_too(killed: Path, tmp_path: Path) -> None:
    run = edited(killed, tmp_path / "run", {"emulator": lambda records: records[:-1]})
    assert findings(run)["logs that break off"].startswith("emulator has no end: ")
    (run / "logs" / "emulator.jsonl").unlink()
    assert findings(run)["nodes without a log"].startswith("emulator: ")


def test_a_start_that_is_missing_is_named(killed: Path, tmp_path: Path) -> None:
    def without_the_first_life(records: list[Line]) -> list[Line]:
        second = next(number for number, record in enumerate(records) if record.get("count") == 2)
        return records[second:]

    found = findings(edited(killed, tmp_path / "run", {"B2": without_the_first_life}))
    assert "B2 has no start number 1 of 2" in found["logs that break off"]


def test_a_torn_middle_is_named(calm: Path, tmp_path: Path) -> None:
    run = edited(calm, tmp_path / "run", {})
    log = run / "logs" / "B1.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    lines[40] = lines[40][: len(lines[40]) // 2] + "\n"
    log.write_text("".join(lines))
    found = findings(run)
    assert found["damaged log lines"].startswith("B1, 1 line: ")


def test_the_last_line_of_a_broker_that_was_killed_may_be_torn(killed: Path, tmp_path: Path) -> None:
    run = edited(killed, tmp_path / "run", {})
    log = run / "logs" / "B2.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    second = next(number for number, line in enumerate(lines) if '"started","count":2' in line)
    lines[second - 1] = lines[second - 1][:30] + "\n"
    log.write_text("".join(lines))
    assert "damaged log lines" not in findings(run)


def test_a_gap_before_a_kill_is_named(killed: Path, tmp_path: Path) -> None:
    def without_five_seconds(records: list[Line]) -> list[Line]:
        return [record for record in records if not 4_000_000_000 < record["time"] < 9_000_000_000]

    found = findings(edited(killed, tmp_path / "run", {"B2": without_five_seconds}))
    assert found["gaps in the logs of killed brokers"].startswith("B2 for ")
