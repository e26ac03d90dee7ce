"""Findings about the emulation in its own logs: late event loops and publications, lost records, logs without an
end."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from record.faults import FaultKind
from record.files import LONGEST_LINE, open_log
from record.log import FAULT_CHANGES, LINK_CHANGES, Event
from record.time_units import SECOND

_EVENTS_OF_INTEREST = frozenset({Event.LAG, Event.PUBLISH, Event.STARTED, Event.STOPPED, *FAULT_CHANGES, *LINK_CHANGES})
_BLOCK_BYTES = 256 << 10
"""Bytes of a log that are decoded together, at least."""
CLOCK_TOLERANCE = 2.0
"""Seconds that a node may begin before, or end after, the emulator's record of its variant."""
LAG_INTERVAL = 1.5
"""Seconds that a record of lag covers, at most."""


class _Record(msgspec.Struct, gc=False):
    """The fields of a `TraceRecord` that are used here, decoded alone because that is faster."""

    time: int
    node: str
    variant: str
    event: str
    duration: int = 0
    count: int = 0
    intended: int | None = None
    peer: str = ""
    text: str = ""


class _Kind(msgspec.Struct, gc=False):
    """The field of a record that tells whether the others are of interest: of most records they are not."""

    event: str


_decoder, _kinds = msgspec.json.Decoder(_Record), msgspec.json.Decoder(_Kind)


@dataclass(frozen=True, slots=True)
class Span:
    """The times of a variant, in nanoseconds of the run's clock."""

    begin: int
    """The begin of its first phase."""
    run_begin: int
    run_end: int
    end: int
    """The end of its last phase."""


@dataclass(slots=True)
class LogFindings:
    """The findings on one variant. Durations in seconds of real time."""

    changes: list[float] = field(default_factory=list)
    """Seconds from the time at which each change of a link was due until it was made."""
    lost: dict[str, int] = field(default_factory=dict)
    """Log records that each node had to drop."""
    worst_lag: dict[int, float] = field(default_factory=dict)
    """The worst lateness, in seconds, of any node's event loop, by second of the run phase; nodes with a fault are left
    out while it lasts."""
    worst_lateness: dict[int, float] = field(default_factory=dict)
    """The worst lateness, in seconds, of any publication, by second of the run phase."""
    started: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    """The number of times that each node began its log, ended it, and was killed by a fault before it could end it."""
    other_clocks: dict[str, float] = field(default_factory=dict)
    """Seconds by which nodes began or ended outside the variant's time, by node: their clock is another one."""
    torn: int = 0
    """Lines that could not be read, beyond one for each node that a fault killed."""

    @property
    def unended(self) -> list[str]:
        """Nodes that began more often than they ended."""
        return sorted(node for node, times in (self.started - self.stopped - self.killed).items() if times)


def scan(files: Iterable[Path], spans: Mapping[str, Span]) -> dict[str, LogFindings]:
    """Reads the logs once and returns the findings on every variant."""
    findings = {variant: LogFindings() for variant in spans}
    lags: list[_Record] = []
    faults: dict[tuple[str, str], list[tuple[int, bool]]] = defaultdict(list)
    unreadable = 0
    for path in files:
        for records, damaged in _blocks(path):
            unreadable += damaged
            for record in records:
                if record.variant not in findings:
                    continue
                if record.event == Event.LAG:
                    lags.append(record)
                elif record.event in FAULT_CHANGES:
                    # A fault takes effect at some time before it is logged, at the earliest `duration` before.
                    begins = record.event == Event.FAULT
                    faults[record.variant, record.peer].append((record.time - record.duration * begins, begins))
                _note(findings[record.variant], record, spans[record.variant])
    for record in lags:
        if not _had_fault(record.time, faults.get((record.variant, record.node), ())):
            _note_lag(findings[record.variant], record, spans[record.variant])
    kills = sum(found.killed.total() for found in findings.values())
    for found in findings.values():
        found.torn = max(0, unreadable - kills)
    return findings


def _blocks(path: Path) -> Iterator[tuple[Sequence[_Record], int]]:
    """The records of a log that are of interest, some at a time, and the number of lines among them that are none.

    Logs are read as JSON, because blanks or another order of fields do not change a record. A log that is no file, as
    only a hostile node can leave it, counts as a line that cannot be read; the analysis refuses it by name.
    """
    try:
        opened = open_log(path)
    except OSError:
        yield (), 1
        return
    with opened:
        while lines := opened.read(_BLOCK_BYTES):
            if not lines.endswith(b"\n"):
                lines += opened.readline(LONGEST_LINE)
            yield _decode(lines)


def _decode(lines: bytes) -> tuple[Sequence[_Record], int]:
    parts = lines.removesuffix(b"\n").split(b"\n")
    with contextlib.suppress(msgspec.DecodeError):
        kinds = _kinds.decode_lines(lines)
        if len(kinds) < len(parts):
            parts = [line for line in parts if line.strip()]  # because blank lines are no records
        told = zip(parts, kinds, strict=True)
        return [_decoder.decode(line) for line, kind in told if kind.event in _EVENTS_OF_INTEREST], 0
    records: list[_Record] = []
    unreadable = 0
    for line in parts:
        try:
            if _kinds.decode(line).event in _EVENTS_OF_INTEREST:
                records.append(_decoder.decode(line))
        except msgspec.DecodeError:
            unreadable += 1
    return records, unreadable


def _note(found: LogFindings, record: _Record, span: Span) -> None:
    in_run = span.run_begin <= record.time <= span.run_end
    second = (record.time - span.run_begin) // SECOND
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
        case Event.APPEARED | Event.VANISHED if record.intended is not None:
            found.changes.append((record.time + record.duration - record.intended) / SECOND)
        case Event.PUBLISH if record.intended is not None and in_run:
            late = (record.time - record.intended) / SECOND
            found.worst_lateness[second] = max(late, found.worst_lateness.get(second, 0.0))


def _note_lag(found: LogFindings, record: _Record, span: Span) -> None:
    if span.run_begin <= record.time <= span.run_end:
        second = (record.time - span.run_begin) // SECOND
        found.worst_lag[second] = max(record.duration / SECOND, found.worst_lag.get(second, 0.0))


def _had_fault(time: int, changes: Sequence[tuple[int, bool]]) -> bool:
    """True when a node whose faults began and ended at these times had a fault within the last `LAG_INTERVAL`.

    Several faults may hold on a node at a time: it is healed when all of them are.
    """
    holding = 0
    healed: int | None = None
    for at, begins in sorted(changes):
        if at > time:
            break
        if begins:
            holding += 1
        else:
            holding = max(0, holding - 1)
            healed = at
    return holding > 0 or (healed is not None and time - healed <= LAG_INTERVAL * SECOND)


def _note_clock(found: LogFindings, record: _Record, span: Span) -> None:
    off = max(span.begin - record.time, record.time - span.end) / SECOND
    if off > CLOCK_TOLERANCE:
        found.other_clocks[record.node] = max(off, found.other_clocks.get(record.node, 0.0))
