"""Plain Python in several processes: the run directory that one gives, and nothing left where a stage ends early."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from analysis.engines import PlainEngine
from analysis.engines.in_process import InProcess
from analysis.engines.plain import processes_within
from analysis.engines.side_by_side import Processes
from analysis.pipeline import analyze, judgement
from analysis.tables.event_choice import EventTable
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.callbacks import do_nothing
from record.forked_processes import WorkFailedError
from scenario.loading import load

QUICKSTART = Path(__file__).resolve().parents[3] / "scenarios" / "quickstart.yaml"
TASKS = pa.schema({"task": pa.int32()})


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert not multiprocessing.active_children()


def tables(processes: int, number: int) -> Iterator[pa.Table]:
    """Tables that tell which process computed them."""
    return Processes(processes).in_order(number, lambda task: pa.table({"task": [task], "process": [os.getpid()]}))


def content(run: Path) -> dict[str, bytes]:
    return {file.relative_to(run).as_posix(): file.read_bytes() for file in run.rglob("*") if file.is_file()}


@pytest.mark.proof
def test_a_run_directory_is_the_same_with_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in ("SMALLEST_SHARE", "LARGEST_SHARE", "BUCKET_BYTES"):
        monkeypatch.setattr(judgement, size, 400_000)
    plan = make_plan(load(QUICKSTART, {"timeline.run": "3s"}))
    run = simulate(plan, tmp_path).directory
    analyze(run, PlainEngine(), events=EventTable.ALL)
    alone = content(run)
    assert len([name for name in alone if name.startswith("results/notifications.parquet")]) > 4
    analyze(run, PlainEngine(3), events=EventTable.ALL)
    assert content(run) == alone


def test_tables_come_in_order_from_as_many_processes_as_there_are() -> None:
    found = pa.concat_tables(tables(3, 20)).to_pydict()
    assert found["task"] == [*range(20)]
    assert len({*found["process"]} - {os.getpid()}) == 3


@pytest.mark.parametrize(("processes", "number"), [(1, 3), (3, 1)])
def test_one_process_or_one_table_forks_nothing(processes: int, number: int) -> None:
    assert {row["process"] for table in tables(processes, number) for row in table.to_pylist()} == {os.getpid()}


def stage(processes: int, work: object) -> Iterator[pa.Table]:
    rows = pa.table({"task": pa.array(range(4), pa.int32())}, TASKS)
    with closing(InProcess(processes)) as workers:
        yield from workers.mapped(rows, work, TASKS).collected(["task"], do_nothing)  # type: ignore[arg-type]


def test_the_error_of_the_first_table_ends_a_stage() -> None:
    def fail(row: pa.Table) -> pa.Table:
        raise OverflowError(f"row {row.column('task')[0]}")

    with pytest.raises(OverflowError, match=r"^row 0"):
        list(stage(2, fail))


def test_a_process_that_is_killed_is_told_to_the_user() -> None:
    def end(row: pa.Table) -> pa.Table:
        if row.column("task")[0].as_py() == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return row

    with pytest.raises(WorkFailedError, match=r"^part 3 of this step.* killed by SIGKILL"):
        list(stage(2, end))


def test_an_interrupt_leaves_no_process() -> None:
    with closing(InProcess(2)) as workers:
        begun = workers.mapped(pa.table({"task": pa.array(range(4), pa.int32())}, TASKS), lambda row: row, TASKS)
        unfinished = begun.collected(["task"], do_nothing)
        next(unfinished)
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()


def test_memory_limits_the_number_of_processes() -> None:
    assert [processes_within(processors, 1 << 40) for processors in (1, 3, 64)] == [1, 3, 64]
    assert [processes_within(64, memory << 20) for memory in (0, 800)] == [1, 2]
