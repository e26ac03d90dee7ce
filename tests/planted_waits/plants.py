"""Plants of real waits: a busy program in a node's place on its processor, and a broker that is stopped in silence."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from emulation.host.processes import ProcessIdentity, await_stop, processes_of_run
from emulation.network.relay.handle import RELAY_PROGRAM
from emulation.run.drivers import DRIVER_PROGRAM
from emulation.runtimes.interface import BROKER_PROGRAM
from record.processors import RELAY

Span = tuple[int, int]
"""Begin and end, nanoseconds of the monotonic clock."""
Plant = Callable[[str, str, list[Span]], AbstractContextManager[None]]
"""Holds a node of a run up while it is entered, and notes when; given the run, the node, and where to note it."""

BUSY_FOR, BUSY_EVERY = 0.08, 0.43
"""Seconds; the latter is no multiple of the time between two publications."""
STOPPED_FOR, STOPPED_EVERY = 0.8, 4.0
"""Seconds. The budget tells a stop from 0.25 s on."""
_BUSY = """
import os, sys, time
processor, seconds, every, parent = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
os.sched_setaffinity(0, {processor})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO) - 1))
while os.getppid() == parent:
    time.sleep(every - seconds)
    begin = time.monotonic_ns()
    while time.monotonic_ns() < begin + seconds * 1e9:
        pass
    print(begin, time.monotonic_ns(), flush=True)
"""
"""A program that is ahead of all others on one processor, for a part of the time, until its parent ends."""


def nodes_of(run_id: str) -> dict[str, ProcessIdentity]:
    """The nodes of a run of the process runtime, as they run now."""
    found = {}
    for process in processes_of_run(run_id):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{process.pid}/cmdline").read_text(encoding="utf-8").rstrip("\0").split("\0")
            if BROKER_PROGRAM in command:
                found[Path(command[-1]).parent.name] = process
            elif DRIVER_PROGRAM in command:
                found[Path(command[-1]).stem] = process
            elif RELAY_PROGRAM in command:
                found[RELAY] = process
    return found


@contextlib.contextmanager
def busy(run_id: str, node: str, spans: list[Span]) -> Iterator[None]:
    """A busy program on the processor of one node, which has that processor alone of all processes of the run."""
    own, *others = sorted(os.sched_getaffinity(0))
    for process in processes_of_run(run_id):
        _pin(process.pid, set(others))
    _pin(nodes_of(run_id)[node].pid, {own})
    command = [sys.executable, "-c", _BUSY, str(own), str(BUSY_FOR), str(BUSY_EVERY), str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            yield
        finally:
            program.terminate()
            assert program.stdout is not None
            for line in program.stdout:
                begin, end = map(int, line.split())
                spans.append((begin, end))


@contextlib.contextmanager
def stopped(run_id: str, node: str, spans: list[Span]) -> Iterator[None]:
    """A node that is stopped again and again, which nobody planned."""
    over, process = threading.Event(), nodes_of(run_id)[node]

    def stop() -> None:
        while not over.wait(STOPPED_EVERY - STOPPED_FOR):
            process.kill(signal.SIGSTOP)
            await_stop(process)
            begin = time.monotonic_ns()
            over.wait(STOPPED_FOR)
            end = time.monotonic_ns()
            process.kill(signal.SIGCONT)
            spans.append((begin, end))

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def held_up(spans: list[Span], due: int) -> int:
    """The time for which what was due at a node had to wait, by the times at which the node was held up."""
    return sum(end - due for begin, end in spans if begin <= due < end)


def _pin(pid: int, processors: set[int]) -> None:
    """Has all threads of a process run on these processors alone."""
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):  # it has ended
            os.sched_setaffinity(int(thread.name), processors)
