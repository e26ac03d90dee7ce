"""Times that messages take besides their links, read off the logs of a run at a low rate.

Every interval ends where the next begins, so they add up to the whole way: from the intended time of a publication to
its leaving its home broker, from there to its leaving each next one (less the delay of the link), and from its leaving
the last broker to its client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from record.files import log_files
from record.log import Event, TraceRecord


@dataclass(frozen=True, slots=True)
class LatencySamples:
    """Measured times in nanoseconds, one for each message and part of its way."""

    submit: list[float] = field(default_factory=list)
    link: list[float] = field(default_factory=list)
    notify: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    """Time of each notification from its publication's intended time on, links included."""


def read_logs(directory: Path) -> list[TraceRecord]:
    """The records of all logs of a directory."""
    decoder = msgspec.json.Decoder(TraceRecord)
    return [decoder.decode(line) for log in log_files(directory) for line in log.read_bytes().splitlines()]


def intervals(records: Iterable[TraceRecord], delays: Mapping[tuple[str, str], float]) -> LatencySamples:
    """The intervals of all publications; `delays` are those of the links by source and target, in seconds.

    A broker's leaving time is that of the first copy; a copy that is never passed on ends no interval.
    """
    intended: dict[str, int] = {}
    first: dict[tuple[str, str], int] = {}
    homes: dict[str, str] = {}
    sent: list[TraceRecord] = []
    delivered: dict[tuple[str, str | None], int] = {}
    notified: list[TraceRecord] = []
    for record in records:
        id = record.id or ""
        if record.event is Event.PUBLISH and record.intended is not None:
            intended[id], homes[id] = record.intended, record.peer or ""
        elif record.event is Event.NOTIFIED:
            notified.append(record)
        elif record.kind == "publish" and record.event in (Event.SENT, Event.DELIVERED):
            first[id, record.node] = min(record.time, first.get((id, record.node), record.time))
            if record.event is Event.SENT:
                sent.append(record)
            else:
                delivered[id, record.client] = record.time
    found = LatencySamples()
    found.submit.extend(first[id, homes[id]] - begin for id, begin in intended.items() if (id, homes[id]) in first)
    for record in sent:
        id, hop = record.id or "", (record.node, record.peer or "")
        if (id, hop[1]) in first and hop in delays:
            found.link.append(first[id, hop[1]] - record.time - delays[hop] * 1e9)
    for record in notified:
        id = record.id or ""
        if (id, record.client) in delivered:
            found.notify.append(record.time - delivered[id, record.client])
            found.whole.append(record.time - intended[id])
    return found
