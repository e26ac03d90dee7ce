"""The log of an explored run, as far as exploration reads it."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import msgspec

from record.files import log_files


class LoggedRecord(msgspec.Struct, gc=False):
    """Some fields of a `TraceRecord`."""

    time: int
    node: str
    event: str
    kind: str | None = None
    client: str | None = None
    peer: str | None = None
    hops: int | None = None
    text: str | None = None
    label: str | None = None
    count: int | None = None


_DECODER = msgspec.json.Decoder(LoggedRecord)


def logged(logs: Path) -> list[LoggedRecord]:
    """All records of a run, in order of time; those of the same time by node and place in its log."""
    found = [record for log in sorted(log_files(logs)) for record in _records(log)]
    found.sort(key=attrgetter("time"))
    return found


def most_hops(logs: Path) -> int:
    """The largest number of links that a message had travelled over when it was received."""
    return max((record.hops or 0 for log in log_files(logs) for record in _records(log)), default=0)


def _records(log: Path) -> Iterator[LoggedRecord]:
    return iter(_DECODER.decode_lines(log.read_bytes()))
