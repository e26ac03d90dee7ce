"""Gauges of a process, taken beside its event loop: the loop's lag, and the process's own time and memory."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from broker_service.tracing.trace import FLUSH_INTERVAL, FileTrace, NullTrace, Recorder
from record.log import Event

SECOND = 10
"""Ticks of `FLUSH_INTERVAL` in a second, which lies between two records of a gauge."""

_PAGE = resource.getpagesize()
_TICKS = os.sysconf("SC_CLK_TCK")


class LoopLag:
    """The worst lag of an event loop. `tick` must be called once in `FLUSH_INTERVAL` seconds."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._expected: float | None = None
        self._worst = 0.0

    def tick(self) -> None:
        now = self._time()
        if self._expected is not None:
            self._worst = max(self._worst, now - self._expected)
        self._expected = now + FLUSH_INTERVAL

    def take(self) -> float:
        """The worst lag since the last call, in seconds."""
        worst, self._worst = self._worst, 0.0
        return worst


def processor_time(others: Iterable[int]) -> int:
    """Nanoseconds that this process and others have been on processors since they began; 0 for one that has ended."""
    return time.process_time_ns() + sum(map(_processor_time, others))


def _processor_time(process: int) -> int:
    """The time of a process and of those of its own that have ended, in the kernel's ticks (proc(5), `stat`)."""
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return 0
    return sum(map(int, stat.rpartition(b")")[2].split()[11:15])) * 1_000_000_000 // _TICKS


def resident_memory(others: Iterable[int] = ()) -> int:
    """Bytes of physical memory that this process and others occupy (proc(5), `statm`)."""
    return _resident_memory("self") + sum(map(_resident_memory, others))


def _resident_memory(process: int | str) -> int:
    try:
        with Path(f"/proc/{process}/statm").open("rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return 0


class Ticker:
    """The regular work of a process beside its event loop: flushes the log each tick, and logs the loop's lag each
    second. A tick is `FLUSH_INTERVAL`."""

    def __init__(
        self, trace: FileTrace | NullTrace, recorder: Recorder, *others: tuple[int, Callable[[], None]]
    ) -> None:
        """`others` are further calls, each with the number of ticks from one time to the next."""
        self._trace = trace
        self._recorder = recorder
        self._lag = LoopLag(asyncio.get_running_loop().time)
        self._calls = ((SECOND, self._log_lag), *others)

    async def run(self) -> None:
        """Works until cancelled."""
        for ticks in itertools.count(1):
            self._lag.tick()
            await asyncio.sleep(FLUSH_INTERVAL)
            for interval, call in self._calls:
                if ticks % interval == 0:
                    call()
            self._trace.flush()

    def _log_lag(self) -> None:
        self._recorder.note(Event.LAG, duration=round(self._lag.take() * 1e9))
