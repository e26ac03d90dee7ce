"""A timer that an event loop waits for to the microsecond; the loop's own ones are rounded to milliseconds."""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import Callable

_ABSOLUTE = 1
_NANOSECONDS = 1_000_000_000


class _TimerSpecification(ctypes.Structure):
    """`struct itimerspec` of timerfd_create(2)."""

    _fields_ = (
        ("interval_seconds", ctypes.c_long),
        ("interval_nanoseconds", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("nanoseconds", ctypes.c_long),
    )


class PreciseTimer:
    """Calls back once at a time of the monotonic clock. Made within a running loop; close it after use."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file: int = self._libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"timerfd_create: {os.strerror(number)}")
        self._specification = _TimerSpecification()
        self._reference = ctypes.byref(self._specification)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._file, self._fire)

    def set(self, when: int) -> None:
        """Calls back at `when` nanoseconds of the monotonic clock (at once, if that is over), and at no other time."""
        self._specification.seconds, self._specification.nanoseconds = divmod(max(when, 1), _NANOSECONDS)
        self._libc.timerfd_settime(self._file, _ABSOLUTE, self._reference, None)

    def close(self) -> None:
        self._loop.remove_reader(self._file)
        os.close(self._file)

    def _fire(self) -> None:
        try:
            os.read(self._file, 8)
        except BlockingIOError:
            return  # set anew since the loop woke
        self._callback()
