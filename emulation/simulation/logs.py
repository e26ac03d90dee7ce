"""The logs of a simulated run: all nodes write in one process, and no file is kept open.

A thousand nodes have a thousand logs, which must fit the usual limit of 1,024 open files. So a node's lines are kept
until enough wait, and are appended in one go. Nothing depends on when that is: the same seed gives the same bytes.
Records become lines soon, because lines take half the memory, and some at a time, because that takes less time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Protocol

import msgspec

from broker_service.tracing.trace import Trace
from emulation.held.awaited_records import RecordWatch
from record.files import log_file
from record.log import TraceRecord

_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

BUFFERED_BYTES: Final = 40_000
"""Bytes of a node's lines from which on they are written: 40 MB in all for a thousand nodes."""
ENCODED_AT_ONCE: Final = 32
"""Records of a node that become lines together."""


class RunLogs(Protocol):
    """The logs of one variant."""

    failure: OSError | None
    """The reason why records could not be written. The driver of the simulation checks it, because nodes do not."""

    def of(self, node: str) -> Trace:
        """The log of a node, the same one each time."""

    @property
    def written(self) -> int:
        """Records of all nodes."""

    def flush(self) -> None:
        """Writes everything that waits."""


class LogDirectory:
    """`RunLogs` in a directory."""

    def __init__(self, directory: Path, variant: str, watch: RecordWatch | None = None) -> None:
        """`watch` sees every record when it is made."""
        self.variant = variant
        self._watch = watch
        self.failure: OSError | None = None
        self._directory = directory
        self._nodes: dict[str, NodeLog] = {}

    def of(self, node: str) -> NodeLog:
        log = self._nodes.get(node)
        if log is None:
            path = str(log_file(self._directory, node))
            log = NodeLog(self, node, path) if self._watch is None else _WatchedLog(self, node, path, self._watch)
            self._nodes[node] = log
        return log

    @property
    def written(self) -> int:
        return sum(node.written for node in self._nodes.values())

    def flush(self) -> None:
        for node in self._nodes.values():
            node.flush()

    def append(self, path: str, lines: bytearray) -> None:
        """Writes lines of a node to its log."""
        try:
            descriptor = os.open(path, _APPEND, 0o666)
            try:
                written = 0
                while written < len(lines):
                    written += os.write(descriptor, lines[written:] if written else lines)
            finally:
                os.close(descriptor)
        except OSError as error:
            self.failure = self.failure or error


class NodeLog:
    """The log of one node; a `broker_service.tracing.trace.Trace`."""

    __slots__ = ("_directory", "_encoded", "_encoder", "_lines", "_path", "_records", "node", "variant")

    def __init__(self, directory: LogDirectory, node: str, path: str) -> None:
        self.node = node
        self.variant = directory.variant
        self._directory = directory
        self._path = path
        self._encoder = msgspec.json.Encoder()
        self._encoded = 0
        """Records that became lines."""
        self._records: list[TraceRecord] = []
        self._lines = bytearray()

    @property
    def written(self) -> int:
        """Records of this variant."""
        return self._encoded + len(self._records)

    def write(self, record: TraceRecord) -> None:
        records = self._records
        records.append(record)
        if len(records) >= ENCODED_AT_ONCE:
            self._encode()
            if len(self._lines) >= BUFFERED_BYTES:
                self.flush()

    def flush(self) -> None:
        """Writes what waits."""
        self._encode()
        if self._lines:
            lines, self._lines = self._lines, bytearray()
            self._directory.append(self._path, lines)

    def _encode(self) -> None:
        self._lines += self._encoder.encode_lines(self._records)
        self._encoded += len(self._records)
        self._records.clear()


class _WatchedLog(NodeLog):
    """The log of a node of a held run."""

    __slots__ = ("_watch",)

    def __init__(self, directory: LogDirectory, node: str, path: str, watch: RecordWatch) -> None:
        super().__init__(directory, node, path)
        self._watch = watch

    def write(self, record: TraceRecord) -> None:
        super().write(record)
        self._watch.see(record)
