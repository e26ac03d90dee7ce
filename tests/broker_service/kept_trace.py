"""A log in memory."""

from __future__ import annotations

from record.log import TraceRecord


class KeptTrace:
    """Keeps the event of each record that is written, and a mark for each flush."""

    node, variant = "B1", "base"

    def __init__(self) -> None:
        self.kept: list[str] = []

    @property
    def written(self) -> int:
        return len(self.kept)

    def write(self, record: TraceRecord) -> None:
        self.kept.append(record.event.value)

    def flush(self) -> None:
        self.kept.append("flush")
