"""The records of an explored run in order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import attrgetter
from pathlib import Path

import msgspec

from record.files import log_files
from record.log import TraceRecord

_DECODER = msgspec.json.Decoder(TraceRecord)


def logged(logs: Path) -> list[TraceRecord]:
    """All records of a run, in order."""
    return in_order(_DECODER.decode_lines(log.read_bytes()) for log in log_files(logs))


def in_order(logs: Iterable[Iterable[TraceRecord]]) -> list[TraceRecord]:
    """All records in order of time; those of the same time by node and place in its log. Logs are in order of nodes."""
    return sorted(chain.from_iterable(logs), key=attrgetter("time"))


def farthest(records: Iterable[TraceRecord]) -> tuple[int, str]:
    """The largest number of links that a message had travelled over when it was received, and the message in words."""
    found = max(records, key=lambda record: record.hops or 0, default=None)
    if found is None:
        return 0, ""
    return found.hops or 0, f"{found.label or found.kind or 'message'} {found.id!r}"
