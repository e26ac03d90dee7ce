"""The kernel's most precise timer (timerfd), as a file that a poller can wait for."""

from __future__ import annotations

import ctypes
import os
import time

from record.time_units import SECOND

_ABSOLUTE = 1


class _TimerSpecification(ctypes.Structure):
    """`struct itimerspec` of timerfd_create(2)."""

    _fields_ = (
        ("interval_seconds", ctypes.c_long),
        ("interval_nanoseconds", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("nanoseconds", ctypes.c_long),
    )


class TimerFile:
    """A timerfd on CLOCK_MONOTONIC; its owner closes `descriptor`.

    A poller that watches it edge-triggered never needs to read it.
    """

    def __init__(self) -> None:
        libc = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock: the calls are too short to release it
        self.descriptor: int = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"timerfd_create: {os.strerror(number)}")
        self._specification = _TimerSpecification()
        self._arguments = (
            ctypes.c_int(self.descriptor),
            ctypes.c_int(_ABSOLUTE),
            ctypes.c_void_p(ctypes.addressof(self._specification)),
            None,
        )
        self._set_time = libc.timerfd_settime

    def set(self, when: int) -> None:
        """Expires at `when` nanoseconds of the monotonic clock (at once, if that is over), and at no other time."""
        self._specification.seconds, self._specification.nanoseconds = divmod(when, SECOND)
        self._set_time(*self._arguments)
