"""What the fidelity verdict takes from logs, written with the product's own record type."""

from __future__ import annotations

from pathlib import Path

import msgspec

from broker_service.trace import Event, TraceRecord
from emulation.fidelity.logs import scan

SECOND = 1_000_000_000


def line(node: str, event: Event, time: int, variant: str = "fixed", **fields: int) -> bytes:
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
    phases = {"fixed": (10 * SECOND, 20 * SECOND), "dynamic": (110 * SECOND, 120 * SECOND)}
    found = scan([broker, driver], phases)
    assert found["fixed"].lag == {"B1": [0.002]}
    assert found["fixed"].lost == {"B1": 3}
    assert found["fixed"].started == found["fixed"].stopped == {"B1"}
    assert found["fixed"].lateness == [0.001]
    assert found["dynamic"].lag == {"B1": [0.004]}
    assert found["dynamic"].lateness == [0.0]
    assert found["dynamic"].lost == {}


def test_torn_lines_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "B1.jsonl"
    whole = line("B1", Event.LAG, 12 * SECOND, duration=2_000_000)
    log.write_bytes(whole + whole[:-9])
    found = scan([log], {"fixed": (10 * SECOND, 20 * SECOND)})
    assert found["fixed"].torn == 1
    assert found["fixed"].lag == {"B1": [0.002]}


def test_an_event_is_one_only_at_the_head_of_a_line(tmp_path: Path) -> None:
    log = tmp_path / "B1.jsonl"
    log.write_bytes(b'{"time":1,"node":"B1","text":"' + b"x" * 300 + b'\\"event":"lag","no end\n')
    (tmp_path / "B2.jsonl").write_bytes(b"")
    found = scan([log, tmp_path / "B2.jsonl"], {"fixed": (0, 20 * SECOND)})
    assert found["fixed"].torn == 0
    assert found["fixed"].lag == {}
