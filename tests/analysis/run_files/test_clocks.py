from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.clocks import HostClock
from record.log import Event, TraceRecord
from record.manifest import ClockOffset
from record.time_units import SECOND
from tests.analysis.history import joined, write_run

AHEAD = 1000 * SECOND


def sample(at: int, offset: int, error: int = 0) -> ClockOffset:
    return ClockOffset(at=at, offset=offset, error=error)


def test_between_two_comparisons_a_clock_drifts_evenly() -> None:
    clock = HostClock([sample(1000, 500, 3), sample(2000, 600, 7), sample(3000, 600, 2)])
    assert [clock.offset(at) for at in (0, 1000, 1250, 1500, 2000, 2500, 3000, 9000)] == [
        500, 500, 525, 550, 600, 600, 600, 600,
    ]  # fmt: skip
    assert clock.error == 7


@given(
    start=st.integers(-(10**15), 10**15),
    drift=st.integers(-200, 200),
    ats=st.lists(st.integers(0, 3600 * SECOND), min_size=2, max_size=20, unique=True),
    time=st.integers(0, 3600 * SECOND),
)
def test_an_even_drift_is_undone_exactly(start: int, drift: int, ats: list[int], time: int) -> None:
    """`drift` is in parts per million."""

    def true_offset(at: int) -> int:
        return start + at * drift // 1_000_000

    first, *_, last = ordered = sorted(ats)
    clock = HostClock([sample(at, true_offset(at)) for at in ordered])
    assert abs(clock.offset(time) - true_offset(min(max(time, first), last))) <= 2
    (of_column,) = clock.offsets_at(np.array([time]))
    assert abs(of_column - clock.offset(time)) <= 1


def test_times_are_corrected_and_durations_are_not() -> None:
    record = TraceRecord(time=5, node="B1", variant="v", event=Event.SENT, duration=7, intended=3, arrived=2, written=9)
    HostClock([sample(0, 100)]).bring_to_run_time([record])
    assert (record.time, record.intended, record.duration) == (105, 103, 7)
    assert (record.arrived, record.written) == (102, 109)


def spread(directory: Path, ahead: int, drift: int) -> Path:
    """A run whose subscriber is on a host with a clock that is `ahead` of the run's at 80 s, and gains `drift` ppm."""
    history = joined("base").publish().publish("P:2", at=140).notify("P:1").notify("P:2", at=140.05)
    run = write_run(directory, [history])
    log = run / "logs" / "driver.jsonl"
    records = [msgspec.json.decode(line, type=TraceRecord) for line in log.read_bytes().splitlines()]
    far = [record for record in records if record.client == "S"]

    def seen(time: int) -> int:
        return time + ahead + (time - 80 * SECOND) * drift // 1_000_000

    log.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records if record.client != "S"))
    for record in far:
        record.time, record.node = seen(record.time), "far"
    (run / "logs" / "far.jsonl").write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in far))
    manifest = json.loads((run / "manifest.json").read_text())
    offsets = [{"at": seen(at), "offset": at - seen(at), "error": 20_000} for at in (80 * SECOND, 170 * SECOND)]
    manifest["hosts"] = [{"name": "h1"}, {"name": "h2", "logs": ["far.jsonl"], "offsets": offsets}]
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


@pytest.mark.parametrize(("ahead", "drift"), [(AHEAD, 0), (-AHEAD, 0), (AHEAD, 50), (3 * SECOND, -80)])
def test_a_run_on_two_clocks_is_analysed_as_on_one(tmp_path: Path, ahead: int, drift: int) -> None:
    on_one = analyze(spread(tmp_path / "one", 0, 0), PlainEngine())
    on_two = analyze(spread(tmp_path / "two", ahead, drift), PlainEngine())
    assert on_one.variants[0].delivery.delivered == 2
    assert on_two == on_one


def test_without_the_offsets_it_would_be_another_run(tmp_path: Path) -> None:
    run = spread(tmp_path / "run", AHEAD, 0)
    corrected = analyze(run, PlainEngine())
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"hosts": []}))
    assert analyze(run, PlainEngine()).variants[0].delivery != corrected.variants[0].delivery
