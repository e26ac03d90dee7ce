"""Times that messages take besides their links, read off the logs of a run at a low rate.

Every interval ends where the next begins, so they add up to the whole way: from the intended time of a publication to
its leaving the first broker, from there to its leaving each next one (less the delay of the link), and from its
leaving the last broker to its client.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from broker_service.trace import Event, TraceRecord


@dataclass(frozen=True, slots=True)
class Intervals:
    """Measured times in nanoseconds, one for each message and part of its way."""

    submit: list[float] = field(default_factory=list)
    link: list[float] = field(default_factory=list)
    notify: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    """Of each notification, from the intended time on; links included."""


def read_logs(directory: Path) -> list[TraceRecord]:
    """The records of all logs of a directory."""
    decoder = msgspec.json.Decoder(TraceRecord)
    return [decoder.decode(line) for log in sorted(directory.glob("*.jsonl")) for line in log.read_bytes().splitlines()]


def intervals(records: Iterable[TraceRecord], line: list[str], delays: Mapping[tuple[str, str], float]) -> Intervals:
    """The intervals of all publications that went the whole line of brokers; `delays` of its links are in seconds."""
    intended: dict[str, int] = {}
    leaving: dict[tuple[str, str], int] = {}
    notified: dict[str, int] = {}
    for record in records:
        if record.event is Event.PUBLISH and record.id is not None and record.intended is not None:
            intended[record.id] = record.intended
        elif record.event is Event.NOTIFIED and record.id is not None:
            notified[record.id] = record.time
        elif record.event in (Event.SENT, Event.DELIVERED) and record.kind == "publish" and record.id is not None:
            leaving[record.id, record.node] = record.time
    found = Intervals()
    for id, arrived in notified.items():
        if id not in intended or any((id, broker) not in leaving for broker in line):
            continue
        found.submit.append(leaving[id, line[0]] - intended[id])
        for source, target in itertools.pairwise(line):
            found.link.append(leaving[id, target] - leaving[id, source] - delays[source, target] * 1e9)
        found.notify.append(arrived - leaving[id, line[-1]])
        found.whole.append(arrived - intended[id])
    return found
