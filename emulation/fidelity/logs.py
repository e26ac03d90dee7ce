"""What the run's logs say of the run itself: late event loops and publications, lost records, nodes without an end."""

from __future__ import annotations

import mmap
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from broker_service.trace import Event

_EVENTS = "|".join((Event.LAG, Event.PUBLISH, Event.STARTED, Event.STOPPED))
_LOOKED_FOR = re.compile(f'"event":"({_EVENTS})"'.encode())
_HEAD = 200
"""Bytes of a line, at most, before its event; the same letters further on belong to something else."""


class _Record(msgspec.Struct):
    """The few fields of a `TraceRecord` that matter here."""

    time: int
    node: str
    variant: str
    event: str
    duration: int = 0
    count: int = 0
    intended: int | None = None


@dataclass(slots=True)
class LogFindings:
    """Of one variant. Times in seconds."""

    lag: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Per node, the worst lateness of its event loop in each second of the run phase."""
    lateness: list[float] = field(default_factory=list)
    """Per publication of the run phase, how much after its intended time it was handed over."""
    lost: dict[str, int] = field(default_factory=dict)
    """Per node, log records it had to drop."""
    started: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    torn: int = 0
    """Lines that could not be read."""


def scan(files: Iterable[Path], phases: dict[str, tuple[int, int]]) -> dict[str, LogFindings]:
    """Reads logs once, for all variants: `phases` maps each variant to its run phase (begin and end, ns)."""
    findings = {variant: LogFindings() for variant in phases}
    decoder = msgspec.json.Decoder(_Record)
    for path in files:
        for line in _lines_looked_for(path):
            try:
                record = decoder.decode(line)
            except msgspec.DecodeError:
                for found in findings.values():
                    found.torn += 1
                continue
            if record.variant in findings:
                _note(findings[record.variant], record, phases[record.variant])
    return findings


def _lines_looked_for(path: Path) -> Iterator[bytes]:
    """The lines that matter, found without looking at the many others one by one."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for found in _LOOKED_FOR.finditer(content):
                begin = content.rfind(b"\n", max(0, found.start() - _HEAD), found.start()) + 1
                if found.start() - begin <= _HEAD:
                    end = content.find(b"\n", found.end())
                    yield content[begin:] if end < 0 else content[begin:end]


def _note(found: LogFindings, record: _Record, run: tuple[int, int]) -> None:
    match record.event:
        case Event.STARTED:
            found.started.add(record.node)
        case Event.STOPPED:
            found.stopped.add(record.node)
            if record.count:
                found.lost[record.node] = found.lost.get(record.node, 0) + record.count
        case Event.LAG if run[0] <= record.time <= run[1]:
            found.lag[record.node].append(record.duration / 1e9)
        case Event.PUBLISH if record.intended is not None and run[0] <= record.time <= run[1]:
            found.lateness.append((record.time - record.intended) / 1e9)
