"""Tables in a temporary file, as messages of Arrow's IPC format, so that memory does not grow with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import NamedTuple

import pyarrow as pa

from analysis.engines.arrays import array_of


class Section(NamedTuple):
    """The position of a record batch in the file."""

    offset: int
    length: int


class Spool:
    """Tables of one schema, without dictionaries. The file has no name and is removed when the spool is, or when the
    process ends. Sections are read, and not mapped, because mapped pages would count as memory of the process."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = TemporaryFile(prefix="brokerlab-")  # noqa: SIM115 - closed with the spool
        self._sink = pa.PythonFile(self._file, "w")
        self._stream = pa.ipc.new_stream(self._sink, schema)
        # The stream writes its schema before its first batch, and sections must not begin with it.
        self._stream.write_batch(pa.RecordBatch.from_struct_array(array_of([], pa.struct(list(schema)))))

    def add(self, table: pa.Table) -> list[Section]:
        """Writes a table, column by column, and returns where. Raises `OSError` when the disk is full."""
        sections = [self._write(batch) for batch in table.to_batches()]
        self._file.flush()
        return sections

    def read(self, sections: Iterable[Section]) -> pa.Table:
        """The tables at these places as one, in several chunks."""
        return pa.Table.from_batches(self._batches(sections), self._schema)

    def _batches(self, sections: Iterable[Section]) -> Iterator[pa.RecordBatch]:
        for section in sections:
            message = os.pread(self._file.fileno(), section.length, section.offset)
            yield pa.ipc.read_record_batch(pa.py_buffer(message), self._schema)

    def _write(self, batch: pa.RecordBatch) -> Section:
        begin = self._sink.tell()
        self._stream.write_batch(batch)
        return Section(begin, self._sink.tell() - begin)
