"""Records of the log as rows of the table `events`, in Arrow's columns.

A record is decoded once, by `analysis.run_files.logs`, for the judge and for this table alike. Its fields become
columns block by block, 256 kB of log at a time: 1.4 us of processor time for a record (of the scenario quickstart),
against 1.7 us for which DuckDB's reader and 3.7 us for which Arrow's reader of JSON would decode the same lines again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import astuple

from analysis.engines.arrays import array_of, integers, numbers_of
from analysis.run_files.folders import Folder
from analysis.run_files.logs import RecordBlock
from analysis.tables.events import (
    LOG_PLACE,
    PATH_COLUMNS,
    RUN_TIME,
    TIME,
    EventColumn,
    event_columns,
    event_partition,
    event_schema,
    names_that_repeat,
)

_json = msgspec.json.Encoder()


class EventRows:
    """The rows of one share of the logs: some tens of megabytes at most, as a share is bounded."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    def add(self, block: RecordBlock, run_times: Sequence[int] | None = None) -> None:
        """Adds records in the scenario's time. `run_times` are their times by the run's clock; None where these are
        the same."""
        if not block.records:
            return
        values = zip(*map(astuple, block.records), strict=True)
        columns = {column.name: _array(column, found) for column, found in zip(event_columns(), values, strict=True)}
        columns[RUN_TIME] = columns[TIME] if run_times is None else integers(run_times, pa.int64())
        columns[LOG_PLACE] = integers(block.places(), pa.int64())
        self._batches.append(pa.RecordBatch.from_pydict(columns))

    def write(self, parts: Folder, number: int, variants: Collection[str]) -> None:
        """Writes a file for each kind of event of each of these variants, which a repeated task replaces; records of
        other variants are left out. `number` is the share's."""
        if not self._batches:
            return
        table, names = pa.Table.from_batches(self._batches), names_that_repeat()
        self._batches.clear()
        for values, rows in _divided(table):
            if values[0] in variants:
                with parts.create(f"{event_partition(values)}/part-{number:06}.parquet") as file:
                    pq.write_table(rows.cast(event_schema()), file, use_dictionary=names)


def _array(column: EventColumn, values: Sequence[object]) -> pa.Array:
    if values.count(None) == len(values):
        return pa.nulls(len(values), column.type)
    if column.encoded:
        encoded = [None if value is None else _json.encode(value) for value in values]
        return array_of(encoded, pa.binary()).cast(pa.string())
    return array_of(values, column.type)


def _divided(table: pa.Table) -> Iterator[tuple[list[str], pa.Table]]:
    """The rows of each variant and kind of event, in the order of the log."""
    encoded = [table[name].combine_chunks().dictionary_encode() for name in PATH_COLUMNS]
    codes = np.zeros(table.num_rows, np.int64)
    for column in encoded:
        codes = codes * len(column.dictionary) + numbers_of(pa.chunked_array([column.indices]))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ordered = table.take(integers(order, pa.int64()))
    for start, end in zip(starts, [*starts[1:], table.num_rows], strict=True):
        values = [column.dictionary[column.indices[order[start]].as_py()].as_py() for column in encoded]
        yield values, ordered.slice(start, end - start).select(event_schema().names)
