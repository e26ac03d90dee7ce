"""Times for which nodes waited for a processor, held against spans whose waiting is known."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from analysis.run_files.processor_times import ProcessorTimes, read_processor_times
from record.errors import RunDirectoryError
from record.files import PROCESSORS
from record.manifest import ClockOffset, HostRecord
from record.processors import RELAY, HostBlock, ProcessorBlock, ProcessorLine, ProcessorSampling, QuotaBlock


def numbers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


TIMES = ProcessorTimes.of(numbers(100, 0, 300), numbers(110, 10, 310), numbers(5, 0, 40))
"""Waits of 5 in [100, 110] and of 40 that ended in [300, 310], so that it began before it."""


def test_a_span_has_all_waiting_of_the_intervals_that_it_touches() -> None:
    begins, ends = numbers(0, 105, 90, 111, 280, 271), numbers(99, 106, 200, 260, 290, 400)
    assert TIMES.touched_by_waits(begins, ends).tolist() == [0, 5, 5, 0, 40, 40]
    assert TIMES.waited_at_most(begins, ends).tolist() == [0, 1, 5, 0, 10, 40]
    assert TIMES.waited == 45


def test_waiting_is_spread_over_its_interval() -> None:
    assert TIMES.waited_in(numbers(0, 0), numbers(110, 400)).tolist() == [5, 45]
    assert TIMES.waited_in(numbers(20, 100, 111, 290), numbers(100, 105, 270, 300)).tolist() == [0, 2.5, 0, 10]


def write(directory: Path, *lines: ProcessorLine, file: str = PROCESSORS) -> None:
    content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (directory / file).write_bytes(content + b'{"type":"intervals","var')


def test_blocks_are_read_by_variant_and_node_in_the_scenarios_time(tmp_path: Path) -> None:
    last = ProcessorSampling(variant="slow", seconds=1, looks=2, used=0.0, processes=2, unread=0)
    write(
        tmp_path,
        ProcessorBlock("slow", 1_000_000, ["B1", "B2"], [1, 0, 10, 4, 6, 0, 0, 10, 8, 2]),
        ProcessorBlock("slow", 2_000_000, ["B1", "B2"], [1, 0, 10, 6, 4]),
        last,
    )
    (found,) = read_processor_times(tmp_path, {"slow": 2.0}).values()
    assert {node: times.waited for node, times in found.nodes.items()} == {"B1": 4_000, "B2": 5_000}
    assert found.nodes["B2"].ends.tolist() == [505_000, 1_005_000]
    assert found.nodes["B2"].held_back is None
    assert found.stolen.waited == 0


def test_quotas_and_steal_are_read_beside_the_waits(tmp_path: Path) -> None:
    write(
        tmp_path,
        ProcessorBlock("base", 0, ["B1", "B2"], [1, 0, 10, 4, 6, 0, 0, 10, 8, 2]),
        QuotaBlock("base", 0, ["B1", "B2"], [1, 0, 10, 3, 1, 10, 20, 5]),
        HostBlock("base", 1_000_000, [0, 200, 70, 0, 200, 400, 0, 30]),
    )
    found = read_processor_times(tmp_path, {})["base"]
    assert {node: times.held_back and times.held_back.waited for node, times in found.nodes.items()} == {
        "B1": None,
        "B2": 8_000,
    }
    assert (found.stolen.waited, found.stolen.ends[-1]) == (70_000, 1_400_000)


def test_each_host_has_a_relay_and_a_clock_of_its_own(tmp_path: Path) -> None:
    for host, broker in (("h1", "B1"), ("h2", "B2")):
        write(
            tmp_path,
            ProcessorBlock("base", 5_000_000, [broker, RELAY], [0, 0, 10, 4, 6, 1, 0, 10, 8, 2]),
            HostBlock("base", 5_000_000, [0, 200, 70, 0]),
            file=f"processors@{host}.jsonl",
        )
    hosts = [HostRecord(name="h1"), HostRecord(name="h2", offsets=[ClockOffset(at=0, offset=-4_000_000, error=1)])]
    found = read_processor_times(tmp_path, {"base": 2.0}, hosts)["base"]
    assert {node: (times.waited, times.ends.tolist()) for node, times in found.nodes.items()} == {
        "B1": (2_000, [2_505_000]),
        "relay@h1": (4_000, [2_505_000]),
        "B2": (2_000, [505_000]),
        "relay@h2": (4_000, [505_000]),
    }
    assert found.hosts == {"B1": "h1", "relay@h1": "h1", "B2": "h2", "relay@h2": "h2"}
    assert found.stolen.ends.tolist() == [600_000, 2_600_000]


def test_a_run_without_samples_has_none(tmp_path: Path) -> None:
    assert read_processor_times(tmp_path, {}) == {}


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / PROCESSORS).write_text("{}\n")
    with pytest.raises(RunDirectoryError, match=rf"{PROCESSORS}:1: "):
        read_processor_times(tmp_path, {})
