from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from broker_service import gauges
from broker_service.gauges import SECOND, BufferGauges, LoadGauge, LoopLag, QueueGauges, Ticker, resident_memory
from broker_service.routing.interface import Buffer
from broker_service.tracing.trace import Recorder
from broker_service.tracing.trace_writer import FLUSH_INTERVAL
from record.log import Event, TraceRecord


class KeptTrace:
    """Keeps what is written, and a mark for each flush."""

    node, variant = "B1", "base"

    def __init__(self) -> None:
        self.kept: list[str] = []

    def write(self, record: TraceRecord) -> None:
        self.kept.append(record.event.value)

    def flush(self) -> None:
        self.kept.append("flush")


@dataclass
class Queue:
    queue_length: int = 0
    in_flight: int = 0
    waiting: int = 0
    longest_wait: int = 0

    @property
    def idle(self) -> bool:
        return not (self.queue_length or self.in_flight)


def test_the_lag_of_a_loop_is_the_latest_tick_since_the_last_look() -> None:
    now = 0.0
    lag = LoopLag(lambda: now)
    for late in (0.0, 0.03, 0.01):
        now += FLUSH_INTERVAL + late
        lag.tick()
    assert lag.take() == pytest.approx(0.03)
    assert lag.take() == 0.0


def test_each_call_has_its_interval_and_each_tick_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, ticks = KeptTrace(), 2 * SECOND

    async def pass_tick(seconds: float) -> None:
        nonlocal ticks
        assert seconds == FLUSH_INTERVAL
        ticks -= 1
        if ticks < 0:
            raise asyncio.CancelledError

    async def work() -> None:
        calls = (5, lambda: trace.kept.append("status"))
        ticker = Ticker(trace, Recorder(trace, lambda: 0), calls)  # type: ignore[arg-type]
        with pytest.raises(asyncio.CancelledError):
            await ticker.run()

    monkeypatch.setattr(gauges.asyncio, "sleep", pass_tick)
    asyncio.run(work())
    quiet = ["flush"] * 4
    assert trace.kept == 2 * [*quiet, "status", "flush", *quiet, Event.LAG.value, "status", "flush"]


def test_a_queue_is_logged_while_it_is_not_empty_and_once_when_it_is_again() -> None:
    trace, link, service = KeptTrace(), Queue(), Queue()
    queues = QueueGauges({"B2": link}, service, Recorder(trace, lambda: 0))  # type: ignore[dict-item]
    for waiting in (0, 3, 3, 0, 0):
        link.queue_length = waiting
        queues.take()
        trace.flush()
    assert trace.kept == ["flush", "queue", "flush", "flush", "queue", "flush", "flush"]


class RecordedTrace:
    """Keeps records whole."""

    node, variant = "B1", "base"

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []

    def write(self, record: TraceRecord) -> None:
        self.records.append(record)


def test_the_load_is_logged_with_its_incarnation_even_if_nothing_was_done() -> None:
    trace, work = RecordedTrace(), iter((5, 5, 9))
    load = LoadGauge(Recorder(trace, lambda: 7), 3, lambda: next(work), lambda: None)
    for _ in range(3):
        load.take()
    assert [(r.event, r.time, r.count, r.duration, r.bytes) for r in trace.records] == [
        (Event.LOAD, 7, 3, done, None) for done in (5, 5, 9)
    ]


def test_resident_memory_grows_with_what_is_held() -> None:
    before = resident_memory()
    held = bytearray(b"x" * (64 << 20))
    assert resident_memory() - before > 48 << 20
    assert len(held) == 64 << 20


def test_a_buffer_is_logged_while_it_holds_or_has_released_something() -> None:
    trace = RecordedTrace()
    shown = [
        Buffer("reorder", 0, 0),
        Buffer("reorder", 30, 2),
        Buffer("reorder", 0, 0, notified=4, waited=0.5),
        Buffer("reorder", 0, 0, notified=5, waited=0.5),
        Buffer("reorder", 0, 0, notified=5, waited=0.5),
    ]
    readings = iter(shown)
    buffers = BufferGauges(lambda: [next(readings)], Recorder(trace, lambda: 7))
    for _ in shown:
        buffers.take()
    assert [(r.event, r.label, r.bytes, r.queue, r.count, r.duration) for r in trace.records] == [
        (Event.BUFFER, "reorder", 30, 2, None, None),
        (Event.BUFFER, "reorder", 0, 0, 4, 500_000_000),
        (Event.BUFFER, "reorder", 0, 0, 1, 0),
    ]
