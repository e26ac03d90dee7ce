"""The log of an explored run, as far as exploration reads it."""

from __future__ import annotations

from collections.abc import Iterable
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
    found = [record for log in sorted(log_files(logs)) for record in _DECODER.decode_lines(log.read_bytes())]
    found.sort(key=attrgetter("time"))
    return found


def most_hops(records: Iterable[LoggedRecord]) -> int:
    """The largest number of links that a message had travelled over when it was received."""
    return max((record.hops or 0 for record in records), default=0)
