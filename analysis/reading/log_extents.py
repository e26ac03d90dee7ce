"""Extents of the logs: how many records each node wrote between its starts and its ends, and where lines are damaged.

A log is read in pieces, by several workers. Each block of lines tells how many records it holds; starts and ends are
kept with their places. Put together, they give the records of each incarnation, whatever the cuts between pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, starmap
from typing import NamedTuple

from record.files import node_of
from record.log import Event, TraceRecord


class BlockExtent(NamedTuple):
    """The number of records in a block of lines."""

    offset: int
    records: int


class Mark(NamedTuple):
    """A start or an end of a node, at its place in a file."""

    offset: int
    """Byte offset of the block."""
    line: int
    """Number of the record among those of the block."""
    variant: int
    node: str
    starts: bool
    time: int
    incarnation: int
    """Incarnation that a start begins."""
    stated: int | None
    """Number of records that the node says, at its end, it wrote since its start; None where it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incarnation:
    """The log of one node from a start to the end that follows it."""

    variant: int
    node: str
    number: int
    started: int
    stopped: int | None
    """Time of the end; None without one."""
    records: int
    """In its file, from the start to the end, both included; without an end, up to the next start or the file's end."""
    stated: int | None
    """Records that the node says it wrote."""


@dataclass(slots=True)
class FileExtent:
    """Records, starts and damage of one file."""

    blocks: list[BlockExtent] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    torn: int = 0
    malformed: int = 0

    def incarnations(self) -> Iterator[Incarnation]:
        """The incarnations of the node that wrote the file, in the order of the file."""
        blocks = sorted(self.blocks)
        before = dict(
            zip(
                (block.offset for block in blocks),
                accumulate((block.records for block in blocks), initial=0),
                strict=False,
            )
        )
        whole = sum(block.records for block in blocks)
        marks = sorted(self.marks)
        ends = [before[mark.offset] + mark.line for mark in marks]
        for number, mark in enumerate(marks):
            if not mark.starts:
                continue
            following = marks[number + 1] if number + 1 < len(marks) else None
            begin, end = ends[number], whole if following is None else ends[number + 1]
            ended = following if following is not None and not following.starts else None
            yield Incarnation(
                variant=mark.variant,
                node=mark.node,
                number=mark.incarnation,
                started=mark.time,
                stopped=None if ended is None else ended.time,
                records=end - begin + (ended is not None),
                stated=None if ended is None else ended.stated,
            )

    def strays(self) -> int:
        """The number of records that belong to no incarnation: before the first start, or between an end and the next
        start.

        It is 0 for a file without any start or end.
        """
        if not self.marks:
            return 0
        return sum(block.records for block in self.blocks) - sum(found.records for found in self.incarnations())


class LoggedFile(NamedTuple):
    """The extent of one file, or of a part of it."""

    file: str
    extent: FileExtent


class LogExtents:
    """The extents of all logs, by file."""

    row = LoggedFile

    def __init__(self) -> None:
        self._files: dict[str, FileExtent] = {}

    def add_block(self, file: str, offset: int, records: int, torn: int, malformed: int) -> None:
        found = self._of(file)
        found.blocks.append(BlockExtent(offset, records))
        found.torn += torn
        found.malformed += malformed

    def add_mark(self, file: str, offset: int, line: int, variant: int, record: TraceRecord) -> None:
        """Adds the start or the end that a record describes."""
        starts = record.event is Event.STARTED
        self._of(file).marks.append(
            Mark(
                offset, line, variant, record.node, starts, record.time,
                (record.count or 0) if starts else 0, record.records,
            )
        )  # fmt: skip

    def add(self, row: LoggedFile) -> None:
        own, extent = self._of(row.file), row.extent
        own.blocks += extent.blocks
        own.marks += extent.marks
        own.torn += extent.torn
        own.malformed += extent.malformed

    def __iter__(self) -> Iterator[LoggedFile]:
        return starmap(LoggedFile, self._files.items())

    def incarnations(self) -> list[Incarnation]:
        """Incarnations of all nodes in all variants, file by file."""
        return [found for file in sorted(self._files) for found in self._files[file].incarnations()]

    def damaged(self) -> Counter[str]:
        """Lines that are no records although their writer was not killed, by node."""
        return Counter({node_of(file): extent.malformed for file, extent in self._files.items()})

    def torn(self) -> Counter[str]:
        """Lines that their writer did not end, by node."""
        return Counter({node_of(file): extent.torn for file, extent in self._files.items()})

    def strays(self) -> Counter[str]:
        """Records outside of any incarnation, by node."""
        return Counter({node_of(file): extent.strays() for file, extent in self._files.items()})

    def _of(self, file: str) -> FileExtent:
        return self._files.setdefault(file, FileExtent())
