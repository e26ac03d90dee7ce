"""Logs of a simulated variant that stay in memory, for a caller that judges the run in the same process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from record.files import log_file
from record.log import TraceRecord


class KeptLogs:
    """`RunLogs` of which nothing is written, and nothing fails."""

    failure: OSError | None = None

    def __init__(self, variant: str) -> None:
        self._variant = variant
        self._nodes: dict[str, KeptLog] = {}

    def of(self, node: str) -> KeptLog:
        """The log of a node, the same one each time."""
        log = self._nodes.get(node)
        if log is None:
            log = self._nodes[node] = KeptLog(node, self._variant)
        return log

    @property
    def written(self) -> int:
        return sum(log.written for log in self._nodes.values())

    def flush(self) -> None:
        """Nothing waits."""

    def by_file(self) -> Mapping[str, Sequence[TraceRecord]]:
        """The records of each node that logged any, by the name that its log would have as a file, in order."""
        named = ((log_file(Path(), node).name, log.records) for node, log in self._nodes.items() if log.records)
        return dict(sorted(named))

    def save(self, directory: Path) -> None:
        """Writes the files that the run would have written. Raises `OSError`."""
        for name, records in self.by_file().items():
            (directory / name).write_bytes(msgspec.json.Encoder().encode_lines(records))


class KeptLog:
    """The log of one node; a `broker_service.tracing.trace.Trace`."""

    def __init__(self, node: str, variant: str) -> None:
        self.node = node
        self.variant = variant
        self.records: list[TraceRecord] = []
        self.write: Final[Callable[[TraceRecord], None]] = self.records.append

    @property
    def written(self) -> int:
        """Records of this variant."""
        return len(self.records)
