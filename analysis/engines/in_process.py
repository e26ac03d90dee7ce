"""The frames of the plain Python engine: one stage after another, nothing to install or to start.

The driver reads and writes temporary files; the tables of a stage are computed side by side where there are processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
import pyarrow as pa

from analysis.engines.arrays import integers, numbers_of, rows_in
from analysis.engines.frames import Done, Grouping, Work, perform
from analysis.engines.side_by_side import Processes
from analysis.engines.spool import Section, Spool


@dataclass(frozen=True, slots=True)
class Parts:
    """The tables of a frame: those of one row or of one group after another."""

    number: int
    tables: Iterator[pa.Table]
    """Whoever takes one lets it go before taking the next, so that one is in memory at a time."""


class InProcess:
    """Runs stages in this process, or in forked ones. Groups wait in a temporary file, so that memory does not grow
    with them."""

    parallelism = 8
    """The number by which work is divided, so that the files of a run do not depend on the number of processors."""

    def __init__(self, processes: int = 1) -> None:
        self._processes = Processes(processes)

    def mapped(self, rows: pa.Table, work: Work, schema: pa.Schema) -> ProcessFrame:
        def row(number: int) -> pa.Table:
            return perform(work, rows.slice(number, 1), schema)

        def parts() -> Parts:
            return Parts(rows.num_rows, self._processes.in_order(rows.num_rows, row))

        return ProcessFrame(schema, parts, self._processes)

    def close(self) -> None:
        """Ends what still runs of a stage that failed."""
        self._processes.end()


class ProcessFrame:
    """A frame whose parts are computed one by one when they are used."""

    def __init__(self, schema: pa.Schema, parts: Callable[[], Parts], processes: Processes) -> None:
        self._schema = schema
        self._parts = parts
        self._processes = processes

    def field(self, name: str) -> ProcessFrame:
        element = self._schema.field(name).type.value_type
        schema = pa.schema([element.field(number) for number in range(element.num_fields)])

        def rows(table: pa.Table) -> pa.Table:
            return rows_in(table.column(name))

        def parts() -> Parts:
            whole = self._parts()
            return Parts(whole.number, map(rows, whole.tables))

        return ProcessFrame(schema, parts, self._processes)

    def with_rows_of(self, other: ProcessFrame) -> ProcessFrame:
        def parts() -> Parts:
            own, others = self._parts(), other._parts()
            return Parts(own.number + others.number, chain(own.tables, others.tables))

        return ProcessFrame(self._schema, parts, self._processes)

    def grouped(self, grouping: Grouping, work: Work, schema: pa.Schema) -> ProcessFrame:
        def parts() -> Parts:
            spool = Spool(self._schema)
            groups = _spooled(self._parts().tables, grouping.key, spool)
            keys = sorted(groups)

            def group(number: int) -> pa.Table:
                return perform(work, spool.read(groups[keys[number]]), schema)

            return Parts(len(keys), self._processes.in_order(len(keys), group))

        return ProcessFrame(schema, parts, self._processes)

    def kept(self) -> ProcessFrame:
        return ProcessFrame(self._schema, _Kept(self._schema, self._parts), self._processes)

    def collected(self, columns: Sequence[str], done: Done) -> Iterator[pa.Table]:
        def chosen(table: pa.Table) -> pa.Table:
            return copied(table.select(columns))  # a slice would keep the whole part in memory

        parts = self._parts()
        for finished, table in enumerate(map(chosen, parts.tables), 1):
            done(finished, parts.number)
            yield table


class _Kept:
    """Parts that are computed when they are first used, and wait in a file then."""

    def __init__(self, schema: pa.Schema, parts: Callable[[], Parts]) -> None:
        self._schema = schema
        self._compute: Callable[[], Parts] | None = parts
        self._spool = Spool(schema)
        self._sections: list[list[Section]] = []

    def __call__(self) -> Parts:
        if self._compute is None:
            return Parts(len(self._sections), (self._spool.read(sections) for sections in self._sections))
        parts = self._compute()
        return Parts(parts.number, self._written(parts.tables))

    def _written(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        sections = []
        for table in tables:
            sections.append(self._spool.add(table))
            yield table
            del table
        self._sections = sections
        self._compute = None


def _spooled(tables: Iterable[pa.Table], key: str, spool: Spool) -> dict[int, list[Section]]:
    """Writes the rows of tables, and returns where those of each group are."""
    groups: dict[int, list[Section]] = {}
    for table in map(_ordered, tables, repeat(key)):
        found, begins, numbers = np.unique(numbers_of(table.column(key)), return_index=True, return_counts=True)
        for group, begin, number in zip(found.tolist(), begins.tolist(), numbers.tolist(), strict=True):
            groups.setdefault(group, []).extend(spool.add(table.slice(begin, number)))
        del table
    return groups


def _ordered(table: pa.Table, key: str) -> pa.Table:
    """The rows in the order of their keys. They are moved only where that is necessary: lists are slow to move."""
    keys = numbers_of(table.column(key))
    if np.all(keys[1:] >= keys[:-1]):
        return table
    return table.take(integers(np.argsort(keys, kind="stable"), pa.int64()))


def copied(table: pa.Table) -> pa.Table:
    """A table in memory of its own, as large as itself."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()
