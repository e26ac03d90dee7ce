"""Reference loops, which tell how fast the machine is at one kind of work, so that targets of time hold on any machine.

    python -m benchmarks.support.references

prints the speeds of this machine. A target of time or rate names the kind of work that dominates it, and is scaled by
the speed that this loop has in the same process, just after the measurement.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from enum import StrEnum
from functools import cache
from time import perf_counter

import numpy as np

ROUNDS = 7
"""Repetitions of a loop, of which the fastest counts, because whatever else runs can only slow it down."""
_MESSAGE = bytes(200)


class Reference(StrEnum):
    """A kind of work. Its loop takes some 20 ms."""

    INTERPRETER = "interpreter"
    """Python's calls, attributes, dictionaries and tuples."""
    MEMORY = "memory"
    """Comparisons of arrays that are larger than the processor's caches near the core."""
    SYSCALLS = "system calls"
    """Small writes to a pipe, and reads from it."""
    LOOPBACK = "loopback"
    """Round trips of a small message over a TCP connection, without the wake-ups that other programs delay."""


STANDARD: Mapping[Reference, float] = {
    Reference.INTERPRETER: 0.0162,
    Reference.MEMORY: 0.0106,
    Reference.SYSCALLS: 0.0224,
    Reference.LOOPBACK: 0.0165,
}
"""Seconds of the loops on the machine on which the targets were set, which was not timed. A program that took 16 us of
processor time for a hop there takes 9.9 us on one whose loops were timed, so these are 1.61 times the times there."""


class _Counter:
    """An object whose calls are counted by another dictionary than its own."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, int], int] = {}

    def count(self, name: str, number: int) -> int:
        key = name, number & 255
        found = self.counts.get(key, 0) + 1
        self.counts[key] = found
        return found


def _interpreter() -> None:
    counter = _Counter()
    for number in range(100_000):
        counter.count("a" if number & 1 else "b", number)


def _memory() -> None:
    numbers = np.arange(1 << 20, dtype=np.float64)
    for bound in range(30):
        np.count_nonzero((numbers > bound) & (numbers < 1e6 - bound))


def _syscalls() -> None:
    reader, writer = os.pipe()
    try:
        for _ in range(20_000):
            os.write(writer, _MESSAGE)
            os.read(reader, len(_MESSAGE))
    finally:
        os.close(reader)
        os.close(writer)


def _loopback() -> None:
    with ExitStack() as exits:
        listener = exits.enter_context(socket.create_server(("127.0.0.1", 0)))
        near = exits.enter_context(socket.create_connection(listener.getsockname()))
        far = exits.enter_context(listener.accept()[0])
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(1000):
            for sender, receiver in ((near, far), (far, near)):
                sender.sendall(_MESSAGE)
                receiver.recv(len(_MESSAGE), socket.MSG_WAITALL)


_LOOPS: Mapping[Reference, Callable[[], None]] = {
    Reference.INTERPRETER: _interpreter,
    Reference.MEMORY: _memory,
    Reference.SYSCALLS: _syscalls,
    Reference.LOOPBACK: _loopback,
}


def seconds_of(reference: Reference) -> float:
    """The time of one pass of a loop, the least of `ROUNDS`."""
    loop, times = _LOOPS[reference], []
    for _ in range(ROUNDS):
        begin = perf_counter()
        loop()
        times.append(perf_counter() - begin)
    return min(times)


@cache
def speed_of(reference: Reference) -> float:
    """Speed of this machine, measured once in a process; 1 is that of the machine on which the targets were set."""
    return STANDARD[reference] / seconds_of(reference)


if __name__ == "__main__":
    for kind in Reference:
        print(f"{kind:12}  {seconds_of(kind) * 1000:8.3f} ms, speed {speed_of(kind):.2f}")
