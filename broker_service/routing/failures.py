"""Failures of an author's code: the errors it raises, and calls of routers that do not return.

A thread of its own looks at the stacks of the threads in which routers run, once a second. A call is known by the
outermost frame of the author's code, which is one object for as long as the call lasts: so calls themselves pay
nothing. Into one that lasts too long an error is raised, again at each look until it has got out. Time is counted by
looks, not by a clock, because a process that is paused does not look either.

A loop within one call of a library in C, such as `sum(itertools.count())`, lets no other thread run and is not found.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType

LONGEST_CALL = 30.0
"""Seconds that a call of a router may take. Neighbours have given its broker up for dead long before."""
LONGEST_AT_THE_END = 2.0
"""Seconds that a call may take once the process is asked to end, because it is killed soon after that."""
LOOK_INTERVAL = 1.0
"""Seconds between two looks."""


class EndlessCallError(BaseException):
    """A call of a router has not returned. No `Exception`, because an author's loop may catch those."""

    def __str__(self) -> str:
        return f"the call has not returned for {_longest():g} s; is there an endless loop?"


FAILURES = (Exception, EndlessCallError, SystemExit)
"""Errors of an author's code; `sys.exit()` in it is one, because it would end the program without a word."""


@dataclass(slots=True)
class _Watched:
    """A thread in which routers run."""

    modules: set[str] = field(default_factory=set)
    """Names of the authors' modules and packages."""
    call: FrameType | None = None
    """The call that the last look saw."""
    looks: int = 0
    """Further looks that saw it."""


_watched: dict[int, _Watched] = {}
_watching_process = 0
"""Process of which a thread looks. A forked process has no copy of that thread."""
_allowed = math.inf
"""Seconds that calls may take in this process."""


def watch_calls(module: str) -> None:
    """Has calls into a module or package watched that the present thread makes."""
    global _watching_process  # noqa: PLW0603 - one thread looks for all brokers of a process
    _watched.setdefault(threading.get_ident(), _Watched()).modules.add(module)
    if _watching_process != os.getpid():
        _watching_process = os.getpid()
        threading.Thread(target=_look_regularly, name="calls of routers", daemon=True).start()


def allow_calls(seconds: float) -> None:
    """Has calls end after so many seconds from now on, where that is less than `LONGEST_CALL`."""
    global _allowed  # noqa: PLW0603 - one thread looks for all brokers of a process
    _allowed = seconds


def _longest() -> float:
    return min(_allowed, LONGEST_CALL)


def _look_regularly() -> None:
    while True:
        time.sleep(LOOK_INTERVAL)
        stacks = sys._current_frames()
        for thread, watched in list(_watched.items()):
            _look(thread, watched, stacks.get(thread))
        del stacks


def _look(thread: int, watched: _Watched, stack: FrameType | None) -> None:
    call = _outermost(stack, watched.modules)
    watched.looks = watched.looks + 1 if call is not None and call is watched.call else 0
    watched.call = call
    if watched.looks * LOOK_INTERVAL >= _longest():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(EndlessCallError))


def _outermost(frame: FrameType | None, modules: Iterable[str]) -> FrameType | None:
    found = None
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in modules:
            found = frame
        frame = frame.f_back
    return found
