"""Reference loops, which tell how fast the machine is at one kind of work.

    python -m emulation.host.reference_loops

prints the times of this machine. Times are of the processor alone, and the quickest of many short rounds counts,
because whatever else runs can only slow a round down: a busy host does not look slow. Rounds are on one processor after
the other, because the scheduler leaves a busy thread where it is, and go on for a second or two, because all processors
of a virtual machine may be half as fast for so long while other machines have the other halves of their cores.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import StrEnum
from itertools import cycle, islice
from time import thread_time_ns
from typing import TypeVar

import numpy as np

ROUNDS = 600
"""Repetitions of a loop, which take one to two seconds."""
_STAY = 5
"""Repetitions on one processor before the next has its turn."""
_MESSAGE = bytes(200)

Time = TypeVar("Time", int, float)


class Reference(StrEnum):
    """A kind of work. Its loop takes one to two milliseconds."""

    INTERPRETER = "interpreter"
    """Python's calls, attributes, dictionaries and tuples."""
    MEMORY = "memory"
    """Comparisons of arrays that are larger than the processor's caches near the core."""
    SYSCALLS = "system calls"
    """Small writes to a pipe, and reads from it."""
    LOOPBACK = "loopback"
    """Round trips of a small message over a TCP connection, without the wake-ups that other programs delay."""


Loop = Callable[[], None]


class _Counter:
    """An object whose calls are counted by another dictionary than its own."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, int], int] = {}

    def count(self, name: str, number: int) -> int:
        key = name, number & 255
        found = self.counts.get(key, 0) + 1
        self.counts[key] = found
        return found


@contextmanager
def _interpreter() -> Iterator[Loop]:
    counter = _Counter()

    def loop() -> None:
        for number in range(10_000):
            counter.count("a" if number & 1 else "b", number)

    yield loop


@contextmanager
def _memory() -> Iterator[Loop]:
    numbers = np.arange(1 << 20, dtype=np.float64)

    def loop() -> None:
        for bound in range(4):
            np.count_nonzero((numbers > bound) & (numbers < 1e6 - bound))

    yield loop


@contextmanager
def _syscalls() -> Iterator[Loop]:
    reader, writer = os.pipe()

    def loop() -> None:
        for _ in range(1500):
            os.write(writer, _MESSAGE)
            os.read(reader, len(_MESSAGE))

    try:
        yield loop
    finally:
        os.close(reader)
        os.close(writer)


@contextmanager
def _loopback() -> Iterator[Loop]:
    with ExitStack() as exits:
        listener = exits.enter_context(socket.create_server(("127.0.0.1", 0)))
        near = exits.enter_context(socket.create_connection(listener.getsockname()))
        far = exits.enter_context(listener.accept()[0])
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def loop() -> None:
            for _ in range(100):
                for sender, receiver in ((near, far), (far, near)):
                    sender.sendall(_MESSAGE)
                    receiver.recv(len(_MESSAGE), socket.MSG_WAITALL)

        yield loop


_LOOPS: Mapping[Reference, Callable[[], AbstractContextManager[Loop]]] = {
    Reference.INTERPRETER: _interpreter,
    Reference.MEMORY: _memory,
    Reference.SYSCALLS: _syscalls,
    Reference.LOOPBACK: _loopback,
}


def looping(reference: Reference) -> AbstractContextManager[Loop]:
    """A loop, which does its work once at each call."""
    return _LOOPS[reference]()


def time_of(reference: Reference, part: int = 1) -> int:
    """Nanoseconds of processor time of one pass of a loop, the least of `ROUNDS`, or of a part of them: its divisor."""
    rounds = ROUNDS // part
    with looping(reference) as loop:
        return quickest(max(1, rounds // _STAY), lambda: min(_timed(loop) for _ in range(min(rounds, _STAY))))


def quickest(turns: int, measure: Callable[[], Time]) -> Time:
    """The least of so many measurements of this thread, which are made on one processor after the other."""
    allowed = os.sched_getaffinity(0)
    times: list[Time] = []
    try:
        for processor in islice(cycle(sorted(allowed)), turns):
            os.sched_setaffinity(0, {processor})
            times.append(measure())
    finally:
        os.sched_setaffinity(0, allowed)
    return min(times)


def _timed(loop: Loop) -> int:
    begin = thread_time_ns()
    loop()
    return thread_time_ns() - begin


if __name__ == "__main__":
    for kind in Reference:
        print(f"{kind:12}  {time_of(kind):9,} ns")
