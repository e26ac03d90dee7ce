"""An engine for runs of a few thousand records, of which a caller analyses one after another: everything is computed at
once, in this process, and stays in memory until its frame is let go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.engines.arrays import integers, numbers_of, rows_in
from analysis.engines.frames import Done, Grouping, Work, Workers, perform


@dataclass(frozen=True, slots=True)
class MemoryEngine:
    """Engine that runs the whole analysis in this process, in memory, without files."""

    name: ClassVar[str] = "memory"

    @contextmanager
    def open(self) -> Iterator[Workers]:
        yield _InMemory()


class _InMemory:
    parallelism = 8
    """The number by which the plain engine divides work too."""

    def mapped(self, rows: pa.Table, work: Work, schema: pa.Schema) -> _Held:
        return _Held(schema, [perform(work, rows.slice(number, 1), schema) for number in range(rows.num_rows)])


@dataclass(frozen=True, slots=True)
class _Held:
    """A frame whose parts have been computed."""

    schema: pa.Schema
    tables: Sequence[pa.Table]

    def field(self, name: str) -> _Held:
        element = self.schema.field(name).type.value_type
        schema = pa.schema([element.field(number) for number in range(element.num_fields)])
        return _Held(schema, [rows_in(table.column(name)) for table in self.tables])

    def with_rows_of(self, other: _Held) -> _Held:
        return _Held(self.schema, [*self.tables, *other.tables])

    def grouped(self, grouping: Grouping, work: Work, schema: pa.Schema) -> _Held:
        groups: defaultdict[int, list[pa.Table]] = defaultdict(list)
        for table in self.tables:
            keys = numbers_of(table.column(grouping.key))
            for key in np.unique(keys).tolist():
                groups[key].append(_rows_with(key, keys, table))
        return _Held(schema, [perform(work, pa.concat_tables(groups[key]), schema) for key in sorted(groups)])

    def kept(self) -> _Held:
        return self

    def collected(self, columns: Sequence[str], done: Done) -> Iterator[pa.Table]:
        for finished, table in enumerate(self.tables, 1):
            done(finished, len(self.tables))
            yield table.select(columns)


def _rows_with(key: int, keys: NDArray[Any], table: pa.Table) -> pa.Table:
    chosen = np.flatnonzero(keys == key)
    return table if len(chosen) == len(keys) else table.take(integers(chosen, pa.int64()))
