"""Findings in logs that are written with the product's own record type."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from emulation.fidelity.logs import Span, scan
from record.log import Event, TraceRecord
from record.time_units import SECOND

RUN = Span(0, 10 * SECOND, 20 * SECOND, 30 * SECOND)


def line(node: str, event: Event, time: int, variant: str = "fixed", **fields: int | str) -> bytes:
    record = TraceRecord(time=time, node=node, variant=variant, event=event, **fields)  # type: ignore[arg-type]
    return msgspec.json.encode(record) + b"\n"


def test_findings_are_kept_apart_by_variant_and_taken_from_the_run_phase_only(tmp_path: Path) -> None:
    broker, driver = tmp_path / "B1.jsonl", tmp_path / "publishers.jsonl"
    broker.write_bytes(
        line("B1", Event.STARTED, 1)
        + line("B1", Event.LAG, 5 * SECOND, duration=9_000_000)
        + line("B1", Event.LAG, 12 * SECOND, duration=2_000_000)
        + line("B1", Event.RECEIVED, 12 * SECOND, duration=77)
        + line("B1", Event.STOPPED, 30 * SECOND, count=3)
        + line("B1", Event.LAG, 112 * SECOND, variant="dynamic", duration=4_000_000)
    )
    driver.write_bytes(
        line("publishers", Event.PUBLISH, 15 * SECOND, intended=15 * SECOND - 1_000_000)
        + line("publishers", Event.PUBLISH, 115 * SECOND, variant="dynamic", intended=115 * SECOND)
    )
    found = scan(
        [broker, driver],
        {
            "fixed": Span(1, 10 * SECOND, 20 * SECOND, 30 * SECOND),
            "dynamic": Span(101 * SECOND, 110 * SECOND, 120 * SECOND, 130 * SECOND),
        },
    )
    assert found["fixed"].lost == {"B1": 3}
    assert found["fixed"].started == found["fixed"].stopped == {"B1": 1}
    assert found["fixed"].worst_lag == {2: 0.002}
    assert found["fixed"].worst_lateness == {5: 0.001}
    assert found["dynamic"].worst_lag == {2: 0.004}
    assert found["dynamic"].worst_lateness == {5: 0.0}
    assert found["dynamic"].lost == {}


def test_torn_lines_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "B1.jsonl"
    whole = line("B1", Event.LAG, 12 * SECOND, duration=2_000_000)
    log.write_bytes(whole + whole[:-9])
    found = scan([log], {"fixed": RUN})
    assert found["fixed"].torn == 1
    assert found["fixed"].worst_lag == {2: 0.002}


def test_a_blank_line_is_neither_a_record_nor_torn(tmp_path: Path) -> None:
    log = tmp_path / "B1.jsonl"
    log.write_bytes(b"\n".join([line("B1", Event.LAG, 12 * SECOND, duration=2_000_000), b" ", b""]))
    found = scan([log], {"fixed": RUN})["fixed"]
    assert found.worst_lag == {2: 0.002}
    assert found.torn == 0


def test_an_event_is_a_field_of_a_record_and_not_a_word_in_a_text(tmp_path: Path) -> None:
    log = tmp_path / "B1.jsonl"
    log.write_bytes(line("B1", Event.DROPPED, 12 * SECOND, text='"event":"lag","duration":5') + b'{"event":"lag",\n')
    (tmp_path / "B2.jsonl").write_bytes(b"")
    found = scan([log, tmp_path / "B2.jsonl"], {"fixed": RUN})
    assert found["fixed"].torn == 1
    assert found["fixed"].worst_lag == {}


def test_a_record_is_read_as_json_however_it_is_written(tmp_path: Path) -> None:
    log = tmp_path / "B1.jsonl"
    blanks = b'{"count": 9, "time": 29000000000, "node": "B1", "variant": "fixed", "event": "stopped"}\n'
    escaped = b'{"time":12000000000,"node":"B1","variant":"fixed","event":"l\\u0061g","duration":2000000}\n'
    log.write_bytes(line("B1", Event.STARTED, SECOND) + escaped + blanks)
    found = scan([log], {"fixed": RUN})["fixed"]
    assert found.lost == {"B1": 9}
    assert found.unended == []
    assert found.worst_lag == {2: 0.002}


def test_a_log_that_is_no_file_does_not_hold_the_scan_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "link.jsonl").symlink_to("/dev/zero")
    (tmp_path / "directory.jsonl").mkdir()
    assert scan(sorted(tmp_path.iterdir()), {"fixed": RUN})["fixed"].torn == 3


def test_a_node_with_another_clock_is_a_stranger(tmp_path: Path) -> None:
    log = tmp_path / "B1.jsonl"
    log.write_bytes(
        line("B1", Event.STARTED, 5 * SECOND)
        + line("B1", Event.STOPPED, 29 * SECOND)
        + line("B2", Event.STARTED, 1005 * SECOND)
        + line("B3", Event.STARTED, -50 * SECOND)
        + line("B4", Event.STOPPED, 31 * SECOND)
    )
    assert scan([log], {"fixed": RUN})["fixed"].other_clocks == {"B2": 975.0, "B3": 50.0}


def test_a_log_without_an_end_is_one_unless_a_fault_killed_the_node(tmp_path: Path) -> None:
    log = tmp_path / "logs.jsonl"
    torn = line("B2", Event.STARTED, SECOND)[:40] + b'"event":"lag"' + b"\n"
    log.write_bytes(
        line("B1", Event.STARTED, SECOND)
        + line("B1", Event.STOPPED, 29 * SECOND)
        + line("B2", Event.STARTED, SECOND)
        + torn
        + line("emulator", Event.FAULT, 12 * SECOND, text="kill", peer="B2")
        + line("emulator", Event.FAULT, 12 * SECOND, text="link_down", peer="B3-B1")
        + line("B2", Event.STARTED, 14 * SECOND)
        + line("B2", Event.STOPPED, 29 * SECOND)
        + line("B3", Event.STARTED, SECOND)
    )
    found = scan([log], {"fixed": RUN})["fixed"]
    assert found.unended == ["B3"]
    assert found.torn == 0


def test_a_node_that_a_fault_holds_up_is_not_late(tmp_path: Path) -> None:
    """Paused from 12.3 s, as logged at 12.5 s, to 14.2 s: what its lag says of that time is the fault's."""
    broker, faults = tmp_path / "B1.jsonl", tmp_path / "emulator.jsonl"
    milliseconds = (11_900, 12_400, 14_900, 15_900)
    broker.write_bytes(
        b"".join(line("B1", Event.LAG, at * 1_000_000, duration=number) for number, at in enumerate(milliseconds, 1))
        + line("B2", Event.LAG, 13 * SECOND, duration=SECOND)
    )
    faults.write_bytes(
        line("emulator", Event.FAULT, 12_500_000_000, text="pause", peer="B1", duration=200_000_000)
        + line("emulator", Event.HEALED, 14_200_000_000, text="resume", peer="B1")
    )
    found = scan([broker, faults], {"fixed": RUN})["fixed"]
    assert found.worst_lag == {1: 1e-9, 3: 1.0, 5: 4e-9}


def test_a_node_with_several_faults_is_held_up_until_all_are_healed(tmp_path: Path) -> None:
    """Slowed from 11 s to 17 s and paused from 12 s to 13 s: at 15 s it is slow still, at 19 s it is well."""
    broker, faults = tmp_path / "B1.jsonl", tmp_path / "emulator.jsonl"
    lags = (10_500, 12_500, 15_000, 18_000, 19_000)
    broker.write_bytes(
        b"".join(line("B1", Event.LAG, at * 1_000_000, duration=number) for number, at in enumerate(lags, 1))
    )
    faults.write_bytes(
        line("emulator", Event.FAULT, 11 * SECOND, text="throttle", peer="B1")
        + line("emulator", Event.FAULT, 12 * SECOND, text="pause", peer="B1")
        + line("emulator", Event.HEALED, 13 * SECOND, text="resume", peer="B1")
        + line("emulator", Event.HEALED, 17 * SECOND, text="unthrottle", peer="B1")
    )
    assert scan([broker, faults], {"fixed": RUN})["fixed"].worst_lag == {0: 1e-9, 9: 5e-9}


def test_changes_of_links_are_late_by_the_time_until_they_are_made(tmp_path: Path) -> None:
    log, due = tmp_path / "emulator.jsonl", 5 * SECOND
    log.write_bytes(
        line("emulator", Event.VANISHED, due, peer="B1-B2", intended=due, duration=4_000_000)
        + line("emulator", Event.APPEARED, due + 2_000_000, peer="B1-B3", intended=due, duration=6_000_000)
    )
    found = scan([log], {"fixed": RUN})["fixed"]
    assert found.changes == [0.004, 0.008]
