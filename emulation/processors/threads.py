"""The threads of a run: their counters, read from descriptors that stay open.

1. `/proc/PID/task/TID/schedstat` has the nanoseconds for which a thread ran, those for which it waited while it could
   have run, and the number of times it ran.
2. Most threads of a broker sleep all the time. One whose counters did not change for `_ASLEEP_AFTER` looks is read in
   every `_TURNS`th look only; its interval is then so much longer.
"""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass, field

_ASLEEP_AFTER = 8
_TURNS = 16
_LONGEST = 80
"""Most bytes of a file that holds three numbers of 64 bits in decimal digits."""


@dataclass(slots=True, eq=False)
class Thread:
    """One thread of a node."""

    node: int
    """The node's number."""
    pid: int
    tid: int
    descriptor: int
    counters: bytes
    ran: int
    waited: int
    read: int
    """The time at which it was read last, in nanoseconds."""
    unchanged: int = 0
    """Looks in which it has not run."""


@dataclass(slots=True)
class Threads:
    """All threads that are looked at."""

    unread: int = 0
    """Threads that could not be opened because too many files are open."""
    _known: dict[tuple[int, int], Thread] = field(default_factory=dict)
    _awake: list[Thread] = field(default_factory=list)
    _asleep: list[Thread] = field(default_factory=list)
    _turn: int = 0

    def pids(self) -> set[int]:
        """The processes that have threads here."""
        return {pid for pid, _ in self._known}

    def watch(self, pid: int, node: int, now: int) -> None:
        """Opens the threads of a process that are not open yet; those that end meanwhile are left out."""
        try:
            names = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - paths would take three times as long
        except OSError:
            return
        for name in names:
            if (pid, int(name)) not in self._known:
                self._open(pid, int(name), node, now)

    def look(self, now: int) -> dict[tuple[int, int], list[int]]:
        """Waiting and running nanoseconds by node and by begin of the interval, which ends now."""
        found: dict[tuple[int, int], list[int]] = {}
        self._turn = (self._turn + 1) % _TURNS
        sleepers = self._asleep[self._turn :: _TURNS]
        woken = [thread for thread in sleepers if self._changed(thread, now, found)]
        awake = self._awake
        for thread in awake:
            self._changed(thread, now, found)
        self._awake = [
            thread for thread in awake if thread.unchanged < _ASLEEP_AFTER and thread.descriptor >= 0
        ] + woken
        fallen = [thread for thread in awake if thread.unchanged >= _ASLEEP_AFTER]
        if fallen or woken or any(thread.descriptor < 0 for thread in sleepers):
            again = set(map(id, woken))
            asleep = [thread for thread in self._asleep if thread.descriptor >= 0 and id(thread) not in again]
            self._asleep = asleep + [thread for thread in fallen if thread.descriptor >= 0]
        return found

    def close(self) -> None:
        """Closes all descriptors."""
        for thread in list(self._known.values()):
            self._forget(thread)

    def _changed(self, thread: Thread, now: int, found: dict[tuple[int, int], list[int]]) -> bool:
        """Reads a thread, and adds what it did to `found`; true if it did anything."""
        try:
            counters = os.pread(thread.descriptor, _LONGEST, 0)
        except OSError:  # it has ended
            self._forget(thread)
            return False
        begin, thread.read = thread.read, now
        if counters == thread.counters:
            thread.unchanged += 1
            return False
        ran, waited = _numbers(counters)
        interval = found.setdefault((thread.node, begin), [0, 0])
        interval[0] += waited - thread.waited
        interval[1] += ran - thread.ran
        thread.counters, thread.ran, thread.waited, thread.unchanged = counters, ran, waited, 0
        return True

    def _open(self, pid: int, tid: int, node: int, now: int) -> None:
        descriptor = -1
        try:
            descriptor = os.open(f"/proc/{pid}/task/{tid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
            counters = os.pread(descriptor, _LONGEST, 0)
        except OSError as error:
            self.unread += error.errno in {errno.EMFILE, errno.ENFILE}
            if descriptor >= 0:
                os.close(descriptor)
            return
        ran, waited = _numbers(counters)
        thread = self._known[pid, tid] = Thread(node, pid, tid, descriptor, counters, ran, waited, now)
        self._awake.append(thread)

    def _forget(self, thread: Thread) -> None:
        del self._known[thread.pid, thread.tid]
        with contextlib.suppress(OSError):
            os.close(thread.descriptor)
        thread.descriptor = -1


def _numbers(counters: bytes) -> tuple[int, int]:
    """Nanoseconds for which a thread ran and waited."""
    ran, waited, _ = counters.split()
    return int(ran), int(waited)
