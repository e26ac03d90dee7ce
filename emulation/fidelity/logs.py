"""What the run's logs say of the run itself: late event loops and publications, lost records, nodes without an end."""

from __future__ import annotations

import mmap
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from record.faults import FaultKind
from record.log import Event

_EVENTS = "|".join((Event.LAG, Event.PUBLISH, Event.STARTED, Event.STOPPED, Event.FAULT, Event.HEALED))
_LOOKED_FOR = re.compile(f'"event":"({_EVENTS})"'.encode())
_HEAD = 200
"""Bytes of a line, at most, before its event; the same letters further on belong to something else."""
CLOCK_TOLERANCE = 2.0
"""Seconds that a node may begin before, or end after, what the emulator takes for its variant's time."""
LAG_INTERVAL = 1.5
"""Seconds that a record of lag looks back, at most."""
_SECOND = 1_000_000_000
_OUTAGES = frozenset({Event.FAULT, Event.HEALED})


class _Record(msgspec.Struct):
    """The few fields of a `TraceRecord` that matter here."""

    time: int
    node: str
    variant: str
    event: str
    duration: int = 0
    count: int = 0
    intended: int | None = None
    peer: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """When a variant was, in nanoseconds of the run's clock."""

    begin: int
    """Of its first phase."""
    run_begin: int
    run_end: int
    end: int
    """Of its last phase."""


@dataclass(slots=True)
class LogFindings:
    """Of one variant. Times in seconds, as they passed."""

    lag: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Per node, the worst lateness of its event loop in each second of the run phase, faults on the node left out."""
    lateness: list[float] = field(default_factory=list)
    """Per publication of the run phase, how much after its intended time it was handed over."""
    lost: dict[str, int] = field(default_factory=dict)
    """Per node, log records it had to drop."""
    worst_lag: dict[int, float] = field(default_factory=dict)
    """By second of the run phase, of any node."""
    worst_lateness: dict[int, float] = field(default_factory=dict)
    """Likewise, of any publication."""
    started: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    """How often each node began its log, ended it, and was kept from ending it by a fault."""
    strangers: dict[str, float] = field(default_factory=dict)
    """Nodes that began or ended outside the variant's time, and by how much: their clock is another one."""
    torn: int = 0
    """Lines that could not be read, beyond those of nodes that a fault killed."""

    @property
    def unended(self) -> list[str]:
        """Nodes that said less often that they ended than that they began."""
        return sorted(node for node, times in (self.started - self.stopped - self.killed).items() if times)


def scan(files: Iterable[Path], spans: Mapping[str, Span]) -> dict[str, LogFindings]:
    """Reads logs once, for all variants."""
    findings = {variant: LogFindings() for variant in spans}
    lags: list[_Record] = []
    afflicted: dict[tuple[str, str], list[tuple[int, bool]]] = defaultdict(list)
    decoder = msgspec.json.Decoder(_Record)
    for path in files:
        for line in _lines_looked_for(path):
            try:
                record = decoder.decode(line)
            except msgspec.DecodeError:
                for found in findings.values():
                    found.torn += 1
                continue
            if record.variant not in findings:
                continue
            if record.event == Event.LAG:
                lags.append(record)
            elif record.event in _OUTAGES:
                # A fault takes effect at some time before it is logged, at the earliest `duration` before.
                broken = record.event == Event.FAULT
                afflicted[record.variant, record.peer].append((record.time - record.duration * broken, broken))
            _note(findings[record.variant], record, spans[record.variant])
    for record in lags:
        if not _afflicted(record.time, afflicted.get((record.variant, record.node), ())):
            _note_lag(findings[record.variant], record, spans[record.variant])
    kills = sum(found.killed.total() for found in findings.values())
    for found in findings.values():
        found.torn = max(0, found.torn - kills)
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


def _note(found: LogFindings, record: _Record, span: Span) -> None:
    in_run = span.run_begin <= record.time <= span.run_end
    second = (record.time - span.run_begin) // _SECOND
    match record.event:
        case Event.STARTED:
            found.started[record.node] += 1
            _note_clock(found, record, span)
        case Event.STOPPED:
            found.stopped[record.node] += 1
            _note_clock(found, record, span)
            if record.count:
                found.lost[record.node] = found.lost.get(record.node, 0) + record.count
        case Event.FAULT if record.text == FaultKind.KILL:
            found.killed[record.peer] += 1
        case Event.PUBLISH if record.intended is not None and in_run:
            found.lateness.append(late := (record.time - record.intended) / _SECOND)
            found.worst_lateness[second] = max(late, found.worst_lateness.get(second, 0.0))


def _note_lag(found: LogFindings, record: _Record, span: Span) -> None:
    if span.run_begin <= record.time <= span.run_end:
        second = (record.time - span.run_begin) // _SECOND
        found.lag[record.node].append(lag := record.duration / _SECOND)
        found.worst_lag[second] = max(lag, found.worst_lag.get(second, 0.0))


def _afflicted(time: int, changes: Sequence[tuple[int, bool]]) -> bool:
    """Whether a node that was broken and healed at these times was broken since shortly before.

    Several faults may be on a node at a time: it is whole when all are healed.
    """
    faults = 0
    healed: int | None = None
    for at, breaks in sorted(changes):
        if at > time:
            break
        if breaks:
            faults += 1
        else:
            faults = max(0, faults - 1)
            healed = at
    return faults > 0 or (healed is not None and time - healed <= LAG_INTERVAL * _SECOND)


def _note_clock(found: LogFindings, record: _Record, span: Span) -> None:
    off = max(span.begin - record.time, record.time - span.end) / _SECOND
    if off > CLOCK_TOLERANCE:
        found.strangers[record.node] = max(off, found.strangers.get(record.node, 0.0))
