"""Which of a run's processes get the CPU first, on a host that is too small for all of them at once.

What stands for something outside the brokers must not wait for them: the relay stands for links, and drivers for
clients on machines of their own. A niceness is not enough. The scheduler weighs it against the processes of the same
session only, and it leaves a process that waits behind a busier one's real-time work for tens of milliseconds where
it is, while one of real-time priority is moved to another CPU at once.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path

UNRESTING = 2.0
"""Seconds of work without a pause after which a process no longer goes before others: it does more than it can, or is
broken, and the host has to stay usable."""


@dataclass(frozen=True, slots=True)
class Priority:
    """How far a process goes before others."""

    real_time: int
    """Among those of real-time scheduling (round-robin), where the host allows that; more goes first."""
    nice: int
    """Elsewhere; less goes first."""

    def take(self) -> str:
        """Gets the calling process, and the threads it makes from now on, ahead as far as the host allows; says how
        far that was."""
        with contextlib.suppress(OSError):
            signal.signal(signal.SIGXCPU, lambda *_: self._step_back())
            microseconds = round(UNRESTING * 1e6)
            resource.setrlimit(resource.RLIMIT_RTTIME, (microseconds, resource.getrlimit(resource.RLIMIT_RTTIME)[1]))
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(self.real_time))
            return f"real-time, round-robin, {self.real_time}"
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, self.nice)
            return f"nice {self.nice}"
        return "none"

    def _step_back(self) -> None:
        """Gives up real-time scheduling, in all threads."""
        for thread in (int(entry.name) for entry in Path("/proc/self/task").iterdir()):
            with contextlib.suppress(OSError):
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
                os.setpriority(os.PRIO_PROCESS, thread, self.nice)


LINKS = Priority(real_time=10, nice=-15)
CLIENTS = Priority(real_time=5, nice=-10)
