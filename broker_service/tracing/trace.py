"""The log of a node: its records, stamped with time, node and variant, and the file that they are written to.

`Recorder` is the one place where records are stamped. The schema of the records is `record.log.TraceRecord`.

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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from broker_service.messages import KIND_WORDS, Kind, Message, StreamPosition
from record.log import Event, PlacementRecord, PredicateRecord, TraceRecord

FLUSH_INTERVAL = 0.1
"""Seconds that a record may wait before it is written."""

BUFFERED_RECORDS = 512
"""Records that may wait before they are written at once; few enough that encoding them takes well under 1 ms."""

_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

_log = logging.getLogger(__name__)

_PUBLISH_WORD: Final = Kind.PUBLISH.word
# Looked up once, because a member of an enumeration takes 0.1 us in Python 3.11.
_RECEIVED: Final = Event.RECEIVED
_MATCHED: Final = Event.MATCHED
_SENT: Final = Event.SENT


class Trace(Protocol):
    """The destination of a node's log records."""

    @property
    def node(self) -> str: ...

    @property
    def variant(self) -> str: ...

    @property
    def written(self) -> int:
        """Records that were appended and are not lost."""

    def write(self, record: TraceRecord) -> None:
        """Appends a record. Never raises: a record that cannot be kept is counted."""


class Recorder:
    """Stamps the records of one node and hands them to its log.

    Records of messages get their fields by position, in the order of `TraceRecord`, because keywords would double the
    time that such a record takes; the frequent records have methods of their own for the same reason. Filling in a
    prepared template of the line's text would take a quarter more instructions than a record and its encoding.
    """

    __slots__ = ("_clock", "_node", "_variant", "_write")

    def __init__(self, trace: Trace, clock: Callable[[], int]) -> None:
        self._write = trace.write
        self._node = trace.node
        self._variant = trace.variant
        self._clock = clock

    def now(self) -> int:
        """The time of a record that is made now, in nanoseconds."""
        return self._clock()

    def received(
        self,
        message: Message,
        time: int,
        duration: int | None,
        neighbour: str | None,
        client: str | None = None,
        *,
        arrived: int | None = None,
    ) -> None:
        """Records a message of a neighbour or a client, whose turn came at `time`; `duration` is the router's work.

        `arrived` is the time at which it came from a neighbour's link, or a client's access link.
        """
        self._write(
            TraceRecord(
                time,
                self._node,
                self._variant,
                _RECEIVED,
                KIND_WORDS[message.kind],
                message.id,
                client,
                neighbour,
                message.hops,
                None,
                duration,
                len(message.body) + len(message.header),
                arrived if arrived != time else None,
                label=message.label or None,
            )
        )

    def sent(
        self, message: Message, time: int, waited: int, neighbour: str, queue: int, *, written: int | None = None
    ) -> None:
        """Records a message that left for a neighbour at `time`, and the length of the output queue behind it.

        `written` is the time at which it was handed to the transport, where sending took time.
        """
        self._write(
            TraceRecord(
                time,
                self._node,
                self._variant,
                _SENT,
                KIND_WORDS[message.kind],
                message.id,
                None,
                neighbour,
                message.hops,
                queue,
                waited,
                len(message.body) + len(message.header),
                None,
                written,
                label=message.label or None,
            )
        )

    def matched(self, publication: str, matches: int, duration: int) -> None:
        """Records that a publication's content was compared with subscriptions, now; `duration` is the comparison's."""
        self._write(
            TraceRecord(
                self._clock(),
                self._node,
                self._variant,
                _MATCHED,
                _PUBLISH_WORD,
                publication,
                duration=duration,
                count=matches,
            )
        )

    def message(
        self,
        event: Event,
        message: Message,
        *,
        peer: str | None = None,
        client: str | None = None,
        queue: int | None = None,
        duration: int | None = None,
        count: int | None = None,
        text: str | None = None,
        time: int | None = None,
    ) -> None:
        """Records any other event of a message, now or at `time`."""
        self._write(
            TraceRecord(
                self._clock() if time is None else time,
                self._node,
                self._variant,
                event,
                KIND_WORDS[message.kind],
                message.id,
                client,
                peer,
                message.hops,
                queue,
                duration,
                len(message.body) + len(message.header),
                count=count,
                text=text,
                label=message.label or None,
            )
        )

    def notifications(
        self,
        event: Event,
        clients: Iterable[str],
        *,
        id: str,
        hops: int | None,
        bytes: int,
        peer: str | None = None,
        position: StreamPosition | None = None,
        arrived: int | None = None,
    ) -> None:
        """Records that a publication left for each of these clients (`DELIVERED`) or reached each (`NOTIFIED`), now.

        `arrived` is the time at which it came over the client's access link.
        """
        write, now, node, variant = self._write, self._clock(), self._node, self._variant
        stream, number = (None, None) if position is None else (position.stream, position.position)
        for client in clients:
            write(
                TraceRecord(
                    now,
                    node,
                    variant,
                    event,
                    _PUBLISH_WORD,
                    id,
                    client,
                    peer,
                    hops,
                    bytes=bytes,
                    arrived=arrived,
                    stream=stream,
                    position=number,
                )
            )

    def note(
        self,
        event: Event,
        *,
        kind: str | None = None,
        id: str | None = None,
        client: str | None = None,
        peer: str | None = None,
        hops: int | None = None,
        queue: int | None = None,
        duration: int | None = None,
        bytes: int | None = None,
        count: int | None = None,
        intended: int | None = None,
        text: str | None = None,
        numbers: dict[str, float] | None = None,
        strings: dict[str, str] | None = None,
        predicates: list[PredicateRecord] | None = None,
        label: str | None = None,
        publications: list[str] | None = None,
        placement: PlacementRecord | None = None,
        records: int | None = None,
        sent: int | None = None,
        position: StreamPosition | None = None,
        time: int | None = None,
    ) -> None:
        """Records any other event, now or at `time`; the fields are those of `TraceRecord`. `position` is a stream and
        a position of it."""
        self._write(
            TraceRecord(
                time=self._clock() if time is None else time,
                node=self._node,
                variant=self._variant,
                event=event,
                kind=kind,
                id=id,
                client=client,
                peer=peer,
                hops=hops,
                queue=queue,
                duration=duration,
                bytes=bytes,
                count=count,
                intended=intended,
                text=text,
                numbers=numbers,
                strings=strings,
                predicates=predicates,
                label=label,
                publications=publications,
                placement=placement,
                records=records,
                sent=sent,
                stream=None if position is None else position.stream,
                position=None if position is None else position.position,
            )
        )


class FileTrace:
    """The log of one node in one variant; a `Trace`."""

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
