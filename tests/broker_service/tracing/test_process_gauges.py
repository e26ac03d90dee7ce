from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from broker_service.tracing.process_gauges import SECOND, LoopLag, Ticker, processor_time, resident_memory
from broker_service.tracing.trace import FLUSH_INTERVAL, Recorder
from record.log import Event
from tests.broker_service.kept_trace import KeptTrace


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

    monkeypatch.setattr(asyncio, "sleep", pass_tick)
    asyncio.run(work())
    quiet = ["flush"] * 4
    assert trace.kept == 2 * [*quiet, "status", "flush", *quiet, Event.LAG.value, "status", "flush"]


def test_resident_memory_grows_with_what_is_held() -> None:
    before = resident_memory()
    held = bytearray(b"x" * (64 << 20))
    assert resident_memory() - before > 48 << 20
    assert len(held) == 64 << 20


def test_processes_of_a_router_count_with_their_time_and_memory() -> None:
    work = "sum(range(20_000_000)); held = b'x' * (64 << 20); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        assert resident_memory([process.pid]) - resident_memory() > 48 << 20
        own, both = processor_time(()), processor_time([process.pid])
        assert both - own > 50_000_000
        process.stdin.close()
    assert processor_time([process.pid]) - own < both - own, "nothing of a process that has ended"
