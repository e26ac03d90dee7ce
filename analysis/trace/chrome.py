"""A drawing as JSON for chrome://tracing, which opens it without a network.

Times there are microseconds. They are written with three digits after the point, so that they are whole nanoseconds.
A row is a thread, because flows of this format lead between slices of threads alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from analysis.trace.drawing import Counter, Instant, Slice
from analysis.trace.lanes import Kind, Mark, Row

_encode = msgspec.json.Encoder().encode
_FLOW = "journey"


def as_chrome(rows: Sequence[Row], marks: Sequence[Mark], counters: Sequence[Counter]) -> Iterator[bytes]:
    """The parts of the file."""
    yield b'{"displayTimeUnit":"ns","traceEvents":[\n'
    separator = b""
    for event in _events(rows, marks, counters):
        yield separator + _encode(event)
        separator = b",\n"
    yield b"\n]}\n"


def _events(rows: Sequence[Row], marks: Sequence[Mark], counters: Sequence[Counter]) -> Iterator[dict[str, Any]]:
    processes = sorted({row.track.process for row in rows} | {counter.process for counter in counters})
    for process in processes:
        yield {"ph": "M", "name": "process_name", "pid": process.number, "args": {"name": process.name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": process.number, "args": {"sort_index": process.number}}
    threads = {row: number for number, row in enumerate(rows, 1)}
    for row, number in threads.items():
        where = {"pid": row.track.process.number, "tid": number}
        yield {"ph": "M", "name": "thread_name", **where, "args": {"name": row.track.name}}
        yield {"ph": "M", "name": "thread_sort_index", **where, "args": {"sort_index": number}}
    for mark in marks:
        yield from _of_mark(mark, threads)
    for counter in counters:
        for time, value in counter.samples:
            args = {counter.unit: value}
            yield {"ph": "C", "name": counter.name, "pid": counter.process.number, "ts": _micros(time), "args": args}


def _of_mark(mark: Mark, threads: Mapping[Row, int]) -> Iterator[dict[str, Any]]:
    where = {"pid": mark.row.track.process.number, "tid": threads[mark.row], "ts": _micros(mark.time)}
    match mark.kind:
        case Kind.BEGIN if isinstance(mark.of, Slice):
            args = {"publication": mark.of.publication, **mark.of.facts}
            yield {"ph": "B", "name": mark.name, **where, "args": args}
            for flow in mark.of.arriving:
                yield {"ph": "f", "bp": "e", "name": _FLOW, "cat": _FLOW, "id": flow, **where}
            for flow in mark.of.leaving:
                yield {"ph": "s", "name": _FLOW, "cat": _FLOW, "id": flow, **where}
        case Kind.BEGIN:
            yield {"ph": "B", "name": mark.name, **where}
        case Kind.END:
            yield {"ph": "E", **where}
        case Kind.INSTANT if isinstance(mark.of, Instant):
            yield {"ph": "i", "s": "t", "name": mark.name, **where, "args": dict(mark.of.facts)}


def _micros(time: int) -> msgspec.Raw:
    """Nanoseconds as microseconds, exactly."""
    micros, rest = divmod(abs(time), 1_000)
    return msgspec.Raw(f"{'-' if time < 0 else ''}{micros}.{rest:03d}".encode())
