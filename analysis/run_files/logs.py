"""The log files of a run, cut into pieces that can be read in parallel, decoded into records, with damage counted.

A line is *torn* when its writer was killed: it is the last line of its file and has no end, or the writer's next start
follows it. Any other line that is not a record of the schema is *malformed*.

The logs of a run with time dilation are in the time that really passed. This module alone converts their times to the
scenario's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.run_files.folders import Folder, LogFile
from record.files import LONGEST_LINE
from record.log import Event, TraceRecord

BLOCK_BYTES = 256 << 10
"""Bytes decoded at once."""
_MISSING_SHOWN = 5
"""Brokers that are named where many have no log file."""
_NEWLINE = ord("\n")
_STARTED = Event.STARTED.value.encode()
_decoder = msgspec.json.Decoder(TraceRecord)

Dilations = Mapping[str, float]
"""Factor by which a variant ran slower than its scenario, by variant. A variant without an entry ran at the scenario's
pace."""
NO_DILATION: Dilations = {}


class LogLoss(msgspec.Struct, frozen=True, kw_only=True):
    """Records read from the logs, lines that could not be read, and logs that are missing."""

    records: int
    """Lines that could be read."""
    torn: int
    """Lines cut off because their writer was killed: the last of a file, or followed by the writer's next start."""
    malformed: int
    """Other lines that are not a record of the log schema."""
    missing: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Brokers that ran and have no log file, by name; not set where there is none."""

    def in_words(self) -> list[str]:
        """One sentence for each kind of loss that casts doubt on the results. A torn line is none: its writer was
        killed, and the faults of the run state that."""
        sentences = []
        if self.malformed:
            lines = self.records + self.torn + self.malformed
            sentences.append(
                f"logs: {self.malformed:,} of {lines:,} lines are not records of the log schema and were left out, so "
                "numbers and verdicts may be wrong; run the scenario again"
            )
        if self.missing:
            shown = ", ".join(self.missing[:_MISSING_SHOWN])
            more = f" and {len(self.missing) - _MISSING_SHOWN} more" if len(self.missing) > _MISSING_SHOWN else ""
            sentences.append(
                f"logs: {len(self.missing):,} of the brokers that ran have no log file ({shown}{more}), so numbers and "
                "verdicts may be wrong; run the scenario again"
            )
        return sentences


@dataclass(frozen=True, slots=True)
class Piece:
    """The lines of a file that begin in [start, end), in bytes."""

    file: str
    """Name of the file in the folder of the logs."""
    start: int
    end: int


@dataclass(slots=True)
class RecordBlock:
    """Some consecutive lines of a piece, decoded."""

    offset: int
    """The byte offset of the first line in its file."""
    records: Sequence[TraceRecord]
    torn: int = 0
    malformed: int = 0
    lines: bytes = b""
    starts: Sequence[int] | None = None
    """The byte of the file at which each record begins, where it is not a line of `lines` for each record."""

    def places(self) -> Sequence[int] | NDArray[np.int64]:
        """A place for each record, ascending in a file: the byte at which its line begins.

        JSON may be broken into lines elsewhere. Then places are only ascending.
        """
        if self.starts is not None:
            return self.starts
        ends = np.flatnonzero(np.frombuffer(self.lines, np.uint8) == _NEWLINE)
        starts = np.append(0, ends + 1) if self.lines[-1:] != b"\n" else np.append(0, ends[:-1] + 1)
        return self.offset + (starts if len(starts) == len(self.records) else np.arange(len(self.records)))


def divide(files: Iterable[LogFile], share_bytes: int) -> list[list[Piece]]:
    """Shares of about `share_bytes` each: several small files, or a part of a large one. Empty files are left out."""
    shares: list[list[Piece]] = []
    room = 0
    for file in files:
        for start in range(0, file.size, share_bytes):
            end = min(start + share_bytes, file.size)
            if end - start > room:
                shares.append([])
                room = share_bytes
            shares[-1].append(Piece(file.name, start, end))
            room -= end - start
    return shares


def scenario_time(time: int, dilation: float) -> int:
    """A time or a duration of the run, converted to the scenario's time; nanoseconds."""
    return time if dilation == 1 else round(time / dilation)


def bring_to_scenario_time(records: Iterable[TraceRecord], dilations: Dilations) -> None:
    """Converts all times and durations of the records in place."""
    for record in records:
        dilation = dilations.get(record.variant, 1.0)
        if dilation != 1:
            record.time = scenario_time(record.time, dilation)
            if record.duration is not None:
                record.duration = scenario_time(record.duration, dilation)
            if record.intended is not None:
                record.intended = scenario_time(record.intended, dilation)
            if record.arrived is not None:
                record.arrived = scenario_time(record.arrived, dilation)
            if record.written is not None:
                record.written = scenario_time(record.written, dilation)


class Logs(Protocol):
    """The logs of a run."""

    def files(self) -> Sequence[LogFile]:
        """The log of each node, by name. Raises `OSError`, `RunDirectoryError`."""

    def blocks(self, piece: Piece) -> Iterator[RecordBlock]:
        """Every record of a piece, in order, with the times of the log. Raises `OSError`."""


@dataclass(frozen=True, slots=True)
class StoredLogs:
    """Logs in a folder."""

    folder: Folder

    def files(self) -> Sequence[LogFile]:
        return self.folder.logs()

    def blocks(self, piece: Piece) -> Iterator[RecordBlock]:
        with self.folder.open(piece.file) as file:
            if piece.start:
                file.seek(piece.start - 1)
                file.readline(LONGEST_LINE)  # the rest of a line that belongs to the piece before
            while (offset := file.tell()) < piece.end:
                lines = file.read(min(BLOCK_BYTES, piece.end - offset))
                if not lines.endswith(b"\n"):
                    lines += file.readline(LONGEST_LINE)
                yield _decode(offset, lines, file)


@dataclass(frozen=True, slots=True)
class LogsInMemory:
    """Logs of a run in this process, at the scenario's pace. A record counts as a byte."""

    records: Mapping[str, Sequence[TraceRecord]]
    """The records of each log, by the name that it would have as a file."""

    def files(self) -> Sequence[LogFile]:
        return [LogFile(name, len(self.records[name])) for name in sorted(self.records)]

    def blocks(self, piece: Piece) -> Iterator[RecordBlock]:
        yield RecordBlock(piece.start, self.records[piece.file][piece.start : piece.end])


def _decode(offset: int, lines: bytes, file: BufferedReader) -> RecordBlock:
    try:
        return RecordBlock(offset, _decoder.decode_lines(lines), lines=lines)
    except msgspec.DecodeError:
        return _decode_damaged(offset, lines, file)


def _decode_damaged(offset: int, lines: bytes, file: BufferedReader) -> RecordBlock:
    """Decodes line by line. The line after a damaged one decides whether it is torn."""
    parts = lines.removesuffix(b"\n").split(b"\n")
    records: list[TraceRecord] = []
    starts: list[int] = []
    torn = malformed = 0
    following_line = offset
    for number, line in enumerate(parts):
        start, following_line = following_line, following_line + len(line) + 1
        try:
            records.append(_decoder.decode(line))
            starts.append(start)
        except msgspec.DecodeError:
            last = number == len(parts) - 1
            unfinished = last and not lines.endswith(b"\n")
            following = _peek_line(file) if last else parts[number + 1]
            if unfinished or _is_start(following):
                torn += 1
            else:
                malformed += 1
    return RecordBlock(offset, records, torn, malformed, starts=starts)


def _peek_line(file: BufferedReader) -> bytes:
    offset = file.tell()
    line = file.readline(LONGEST_LINE)
    file.seek(offset)
    return line


def _is_start(line: bytes) -> bool:
    if _STARTED not in line:
        return False
    try:
        return _decoder.decode(line).event is Event.STARTED
    except msgspec.DecodeError:
        return False
