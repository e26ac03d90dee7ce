"""The logs of a simulated run: all nodes write in one process, and no file is kept open.

A thousand nodes have a thousand logs, which must fit the usual limit of 1,024 open files. So a node's records are kept
until enough wait, and are appended in one go. Nothing depends on when that is: the same seed gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from broker_service.trace import TraceRecord

BUFFERED_RECORDS = 256
"""Records of a node that wait at most before they are written: of a thousand nodes about 100 MB in all."""


class LogDirectory:
    """The logs of one variant."""

    def __init__(self, directory: Path, variant: str) -> None:
        self.variant = variant
        self.failure: OSError | None = None
        """Why records could not be written; whoever drives the simulation is to look, for nodes are not told."""
        self._directory = directory
        self._nodes: dict[str, NodeLog] = {}
        self._encode = msgspec.json.Encoder().encode_lines

    def of(self, node: str) -> NodeLog:
        """The log of a node, the same one each time."""
        log = self._nodes.get(node)
        if log is None:
            log = self._nodes[node] = NodeLog(self, node)
        return log

    def flush(self) -> None:
        """Writes everything that waits."""
        for node in self._nodes.values():
            node.flush()

    def append(self, node: str, records: list[TraceRecord]) -> None:
        """Writes records of a node."""
        try:
            with (self._directory / f"{node}.jsonl").open("ab", buffering=0) as file:
                lines = memoryview(self._encode(records))
                while lines:
                    lines = lines[file.write(lines) :]
        except OSError as error:
            self.failure = self.failure or error


class NodeLog:
    """The log of one node; a `broker_service.trace.Trace`."""

    __slots__ = ("_directory", "_records", "node", "variant")

    def __init__(self, directory: LogDirectory, node: str) -> None:
        self.node = node
        self.variant = directory.variant
        self._directory = directory
        self._records: list[TraceRecord] = []

    def write(self, record: TraceRecord) -> None:
        records = self._records
        records.append(record)
        if len(records) >= BUFFERED_RECORDS:
            self.flush()

    def flush(self) -> None:
        """Writes what waits."""
        if self._records:
            records, self._records = self._records, []
            self._directory.append(self.node, records)
