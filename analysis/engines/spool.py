"""Tables in a temporary file, as messages of Arrow's IPC format, so that memory does not grow with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import NamedTuple

import pyarrow as pa


class Section(NamedTuple):
    """The position of a record batch in the file."""

    offset: int
    length: int


class Spool:
    """Tables of one schema, without dictionaries. The file has no name and is removed when the spool is, or when the
    process ends. Sections are read, and not mapped, because mapped pages would count as memory of the process."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = TemporaryFile(prefix="brokerlab-", buffering=0)  # noqa: SIM115 - closed with the spool
        self._end = 0

    def add(self, table: pa.Table) -> list[Section]:
        """Writes a table and returns where. Raises `OSError` when the disk is full."""
        return [self._write(batch.serialize()) for batch in table.combine_chunks().to_batches()]

    def read(self, sections: Iterable[Section]) -> pa.Table:
        """The tables at these places as one, in several chunks."""
        return pa.Table.from_batches(self._batches(sections), self._schema)

    def _batches(self, sections: Iterable[Section]) -> Iterator[pa.RecordBatch]:
        for section in sections:
            message = os.pread(self._file.fileno(), section.length, section.offset)
            yield pa.ipc.read_record_batch(pa.py_buffer(message), self._schema)

    def _write(self, message: pa.Buffer) -> Section:
        section = Section(self._end, len(message))
        rest = memoryview(message)
        while rest:
            rest = rest[os.pwrite(self._file.fileno(), rest, self._end) :]
            self._end = section.offset + section.length - len(rest)
        return section
