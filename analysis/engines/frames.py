"""The interface of the engines that run the analysis: tables whose rows are worked on by functions from table to table.

A *stage* is a function from an Arrow table to an Arrow table with a written schema (`Work`), and is written once.
An engine decides where stages run and how tables travel, and can change nothing else: the result of a stage depends on
its table alone. Spark runs them as `mapInArrow` and `applyInArrow` on DataFrames; without Spark they run in process.

A stage returns one row for each call, or several. A column of type `list<struct>` of such a row is itself a table. The
driver *collects* the columns that are small, counts for instance. A column of many rows never comes to the driver: its
rows go by `field` to the groups of the next stage. Where there are very many, such a row holds many of them in
parallel lists, because rows cost Spark several times what elements of lists do.

    with engine.open() as workers:
        read = workers.mapped(shares, ReadLogs(...), READ).kept()
        for counts in read.collected(["counts"], done): ...  # runs `ReadLogs` for each share
        judged = read.field("blocks").grouped(Grouping("bucket", 64), Judge(...), JUDGED).kept()
        for verdicts in judged.collected(["verdicts"], done): ...  # runs `Judge` for each bucket that has blocks

Schemas use types that both Arrow and Spark have: booleans, signed integers, doubles, strings, binaries, structs, lists.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, Self

import pyarrow as pa

Work = Callable[[pa.Table], pa.Table]
"""A stage: a picklable function of one table, which may be in several chunks. A frozen dataclass with `__call__` holds
what the stage knows from the driver."""
Done = Callable[[int, int], None]
"""Called with the number of tasks of a stage that are done, and the number of all."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """The division of a frame's rows into groups."""

    key: str
    """The column of integers by which rows are grouped; it has no nulls."""
    groups: int
    """The number of groups: keys are at least 0 and less than this."""


class Frame(Protocol):
    """A table in parts, which was computed or will be computed on demand. Frames do not change."""

    def field(self, name: str) -> Frame:
        """The elements of a column of type `list<struct>`, one row for each, of all rows together."""

    def with_rows_of(self, other: Self) -> Self:
        """The rows of both frames, which have the same schema."""

    def grouped(self, grouping: Grouping, work: Work, schema: pa.Schema) -> Frame:
        """The results of a stage, which is called once for each group that has rows, with all of its rows.

        Rows of a group are in no particular order.
        """

    def kept(self) -> Self:
        """A frame of the same rows that is computed once, when it is first used, and not again at each use. It is kept
        outside of the driver's memory until the engine is closed."""

    def collected(self, columns: Sequence[str], done: Done) -> Iterator[pa.Table]:
        """Some columns at the driver, table after table, in the order of the rows of `mapped` or of the keys of
        `grouped`. All of them must be taken.

        `done` is called while the last stage of this frame runs.
        """


class Workers(Protocol):
    """An engine that has started."""

    @property
    def parallelism(self) -> int:
        """The number of tasks that run at a time."""

    def mapped(self, rows: pa.Table, work: Work, schema: pa.Schema) -> Frame:
        """The results of a stage, which is called once for each row, with a table of this row."""


class Engine(Protocol):
    """A way to run the analysis."""

    @property
    def name(self) -> str:
        """The name for people."""

    def open(self) -> AbstractContextManager[Workers]:
        """Starts the engine. Raises `HostError` when it cannot work on this host."""


def perform(work: Work, given: pa.Table, schema: pa.Schema) -> pa.Table:
    """The result of a stage for one table. Raises `TypeError` when it has another schema than written.

    Garbage is not collected meanwhile: a stage makes millions of objects and no cycles, and to scan them again and
    again would be a quarter of the work.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        result = work(given)
    finally:
        if enabled:
            gc.enable()
    if not result.schema.equals(schema):
        raise TypeError(f"{work} returned {result.schema}\nand not {schema}")
    return result
