"""CPU priorities of a run's processes, which matter on a host that is too small for all of them at once.

Processes that represent something outside the brokers must not wait for them: the relay represents links, and drivers
represent clients on machines of their own. A niceness is not enough. The scheduler weighs it against the processes of
the same session only, and it leaves a process that waits for a CPU with real-time work where it is for tens of
milliseconds, while it moves a process of real-time priority to another CPU at once.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path

LONGEST_BURST = 2.0
"""Seconds of work without a pause after which a process loses its priority: it is overloaded or broken, and the host
must remain usable."""


@dataclass(frozen=True, slots=True)
class Priority:
    """The priority of a process."""

    real_time: int
    """Priority in real-time scheduling (round-robin), if the host allows that; greater values go first."""
    nice: int
    """Niceness otherwise; smaller values go first."""

    def take(self) -> str:
        """Gives this priority to the calling process, and to the threads it makes from now on, as far as the host
        allows; returns the scheduling that resulted."""
        with contextlib.suppress(OSError):
            signal.signal(signal.SIGXCPU, lambda *_: self._step_back())
            microseconds = round(LONGEST_BURST * 1e6)
            resource.setrlimit(resource.RLIMIT_RTTIME, (microseconds, resource.getrlimit(resource.RLIMIT_RTTIME)[1]))
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(self.real_time))
            return f"real-time, round-robin, {self.real_time}"
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, self.nice)
            return f"nice {self.nice}"
        return "none"

    def _step_back(self) -> None:
        """Gives up real-time scheduling in all threads."""
        for thread in (int(entry.name) for entry in Path("/proc/self/task").iterdir()):
            with contextlib.suppress(OSError):
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
                os.setpriority(os.PRIO_PROCESS, thread, self.nice)


LINKS = Priority(real_time=10, nice=-15)
CLIENTS = Priority(real_time=5, nice=-10)
