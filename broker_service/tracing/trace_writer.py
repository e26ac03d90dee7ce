"""Writing of a node's log to a file.

A record costs the caller one list append; encoding happens for many records at once, when enough wait or when the
owner flushes (at least every `FLUSH_INTERVAL` seconds). Each flush is one `write` of whole lines to a file opened for
appending, so only a kill in the middle of that call can tear a line. Where a disk takes only part of it, the torn line
is cut off again. Records that cannot be written are counted and forgotten: a log never stops a broker.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from record.log import TraceRecord

FLUSH_INTERVAL = 0.1
"""Seconds that a record may wait before it is written."""

BUFFERED_RECORDS = 512
"""Records that may wait before they are written at once; few enough that encoding them takes well under 1 ms."""

_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

_log = logging.getLogger(__name__)


class FileTrace:
    """The log of one node in one variant; a `broker_service.tracing.trace.Trace`."""

    def __init__(self, path: Path, node: str, variant: str) -> None:
        """Opens the log for appending. Raises `OSError` when that is impossible, or a link stands in its place."""
        self.node = node
        self.variant = variant
        self.lost = 0
        """Records that could not be written."""
        self._path = path
        self._appended = 0
        """Records that are in the file."""
        self._records: list[TraceRecord] = []
        self._encoder = msgspec.json.Encoder()
        self._failing = False
        self._file = os.open(path, _APPEND, 0o644)
        self._end_torn_line()

    @property
    def written(self) -> int:
        """Records that were appended and are not lost."""
        return self._appended + len(self._records)

    def write(self, record: TraceRecord) -> None:
        """Appends a record. Never raises: a record that cannot be kept is counted."""
        records = self._records
        records.append(record)
        if len(records) >= BUFFERED_RECORDS:
            self.flush()

    def flush(self) -> None:
        """Writes the records that wait."""
        if self._records:
            records, self._records = self._records, []
            self._append(records)

    def close(self) -> None:
        self.flush()
        os.close(self._file)

    def _append(self, records: list[TraceRecord]) -> None:
        try:
            lines = self._encoder.encode_lines(records)
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            self._lose(len(records), f"cannot encode: {error}")
            return
        written = 0
        try:
            while written < len(lines):
                written += os.write(self._file, lines[written:] if written else lines)
        except OSError as error:
            whole = lines.count(b"\n", 0, written)
            self._cut(written - (lines.rfind(b"\n", 0, written) + 1))
            self._appended += whole
            self._lose(len(records) - whole, f"cannot write: {error.strerror}")
        else:
            self._appended += len(records)
            self._failing = False

    def _cut(self, excess: int) -> None:
        """Removes the beginning of a torn line from the file's end."""
        if excess:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, os.fstat(self._file).st_size - excess)

    def _lose(self, count: int, reason: str) -> None:
        self.lost += count
        if not self._failing:
            _log.error("log %s: %s; records are being lost", self._path, reason)
        self._failing = True

    def _end_torn_line(self) -> None:
        """Ends the half line that a predecessor may have left which was killed while it wrote."""
        try:
            size = os.fstat(self._file).st_size
            if size and os.pread(self._file, 1, size - 1) != b"\n":
                os.write(self._file, b"\n")
        except OSError as error:
            self._lose(0, f"cannot write: {error.strerror}")


class NullTrace:
    """Keeps no records; it serves a broker without a log."""

    lost = 0
    written = 0

    def __init__(self, node: str, variant: str) -> None:
        self.node = node
        self.variant = variant
        self.write: Final[Callable[[TraceRecord], None]] = deque[TraceRecord](maxlen=0).append
        """Forgets a record, in a function of the library, because every message leads to several."""

    def flush(self) -> None:
        """Has nothing to write."""

    def close(self) -> None:
        """Has nothing to close."""
