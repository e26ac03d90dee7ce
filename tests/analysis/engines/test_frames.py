"""The contract of frames, with small stages: every engine gives the same rows as the simple way."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from analysis.engines.frames import Grouping, Workers
from analysis.engines.in_process import InProcess
from analysis.engines.spark_frames import SparkFrames
from record.callbacks import do_nothing

ROWS = pa.schema({"task": pa.int32()})
BLOCK = pa.schema(
    [pa.field("bucket", pa.int32(), nullable=False), ("names", pa.list_(pa.string())), ("values", pa.list_(pa.int64()))]
)
READ = pa.schema(
    [
        pa.field("task", pa.int32(), nullable=False),
        ("counts", pa.list_(pa.struct([("name", pa.string()), ("number", pa.int64()), ("most", pa.int64())]))),
        ("blocks", pa.list_(pa.struct(list(BLOCK)))),
    ]
)
JUDGED = pa.schema([("bucket", pa.int32()), ("rows", pa.int64()), ("values", pa.list_(pa.int64()))])
GROUPS = 5

Block = dict[str, Any]
Outputs = list[dict[str, list[Block] | None]]
blocks = st.fixed_dictionaries(
    {
        "bucket": st.integers(0, GROUPS - 1),
        "names": st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3),
        "values": st.none() | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
    }
)
counts = st.fixed_dictionaries(
    {
        "name": st.sampled_from(("a", "b", "ü")),
        "number": st.none() | st.integers(0, 9),
        "most": st.none() | st.integers(-9, 9),
    }
)
outputs = st.lists(
    st.fixed_dictionaries(
        {"blocks": st.none() | st.lists(blocks, max_size=4), "counts": st.none() | st.lists(counts, max_size=3)}
    ),
    min_size=1,
    max_size=5,
)


@dataclass(frozen=True)
class Read:
    """Stands for the first stage: returns what it was made with for a task."""

    outputs: Outputs

    def __call__(self, row: pa.Table) -> pa.Table:
        [task] = row.column("task").to_pylist()
        return pa.Table.from_pylist([{"task": task, **self.outputs[task]}], READ)


@dataclass(frozen=True)
class Judge:
    """Stands for a later stage: tells what it was given, in an order of its own."""

    def __call__(self, group: pa.Table) -> pa.Table:
        [bucket] = set(group.column("bucket").to_pylist())
        values = sorted(value for block in group.column("values").to_pylist() for value in block or ())
        return pa.Table.from_pylist([{"bucket": bucket, "rows": group.num_rows, "values": values}], JUDGED)


def tasks(number: int) -> pa.Table:
    return pa.table({"task": pa.array(range(number), pa.int32())}, ROWS)


def check_stages(workers: Workers, made: Outputs) -> None:
    """Two stages as in the analysis, against lists of Python."""
    read = workers.mapped(tasks(len(made)), Read(made), READ).kept()
    collected = pa.concat_tables(read.collected(["task", "counts"], do_nothing)).to_pylist()
    assert collected == [{"task": task, "counts": output["counts"]} for task, output in enumerate(made)]
    groups: dict[int, list[Block]] = defaultdict(list)
    for output in made:
        for block in output["blocks"] or ():
            groups[block["bucket"]].append(block)
    judged = read.field("blocks").grouped(Grouping("bucket", GROUPS), Judge(), JUDGED)
    found = [row for table in judged.collected(JUDGED.names, do_nothing) for row in table.to_pylist()]
    assert found == [
        {
            "bucket": bucket,
            "rows": len(groups[bucket]),
            "values": sorted(value for block in groups[bucket] for value in block["values"] or ()),
        }
        for bucket in sorted(groups)
    ]


@given(outputs)
def test_stages_in_process(made: Outputs) -> None:
    check_stages(InProcess(), made)


@pytest.fixture
def frames(spark: SparkSession) -> Iterator[SparkFrames]:
    with closing(SparkFrames(spark)) as frames:
        yield frames


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(outputs)
def test_stages_on_spark(frames: SparkFrames, made: Outputs) -> None:
    check_stages(frames, made)


def test_groups_and_tasks_on_spark_are_in_order(frames: SparkFrames) -> None:
    blocks: list[Block] = [{"bucket": bucket, "names": None, "values": [bucket]} for bucket in (4, 0, 3)]
    check_stages(frames, [{"blocks": blocks, "counts": [{"name": "a", "number": n, "most": None}]} for n in range(12)])


def test_progress_counts_tasks_and_groups() -> None:
    made: Outputs = [
        {"blocks": [{"bucket": bucket, "names": [], "values": [1]} for bucket in (3, 1)], "counts": []}
    ] * 3
    read = InProcess().mapped(tasks(3), Read(made), READ).kept()
    steps: list[tuple[int, int]] = []
    for _ in read.collected(["task"], lambda *step: steps.append(step)):
        pass
    assert steps == [(1, 3), (2, 3), (3, 3)]
    steps.clear()
    judged = read.field("blocks").grouped(Grouping("bucket", GROUPS), Judge(), JUDGED)
    for _ in judged.collected(["bucket"], lambda *step: steps.append(step)):
        pass
    assert steps == [(1, 2), (2, 2)]


class Counted:
    """A stage that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, row: pa.Table) -> pa.Table:
        self.calls += 1
        return row


def test_what_is_kept_is_computed_once() -> None:
    for calls, keep in ((3, True), (6, False)):
        work = Counted()
        frame = InProcess().mapped(tasks(3), work, ROWS)
        frame = frame.kept() if keep else frame
        for _ in range(2):
            assert [t.num_rows for t in frame.collected(["task"], do_nothing)] == [1, 1, 1]
        assert work.calls == calls


def test_a_stage_must_return_its_schema() -> None:
    other = pa.schema({"task": pa.int64()})
    with pytest.raises(TypeError, match="returned task: int32"):
        list(InProcess().mapped(tasks(1), Counted(), other).collected(["task"], do_nothing))


@dataclass(frozen=True)
class Large:
    """Makes a million values for three buckets."""

    def __call__(self, row: pa.Table) -> pa.Table:
        [task] = row.column("task").to_pylist()
        made = [{"bucket": bucket, "names": ["x"], "values": range(40_000)} for bucket in range(3)]
        return pa.Table.from_pylist([{"task": task, "counts": None, "blocks": made}], READ)


def test_what_waits_between_two_stages_is_not_in_memory() -> None:
    held = pa.total_allocated_bytes()
    read = InProcess().mapped(tasks(10), Large(), READ).kept()
    tracemalloc.start()
    taken = list(read.collected(["task"], do_nothing))
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    judged = read.field("blocks").grouped(Grouping("bucket", 3), Judge(), JUDGED)
    rows = [table.column("rows").to_pylist() for table in judged.collected(["rows"], do_nothing)]
    assert rows == [[10], [10], [10]]
    assert len(taken) == 10
    assert kept < 200_000
    assert pa.total_allocated_bytes() - held < 200_000
