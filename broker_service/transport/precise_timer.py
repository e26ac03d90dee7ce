"""A timer of microsecond precision for event loops, whose own timers are rounded to milliseconds."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from broker_service.transport.timer_file import TimerFile


class PreciseTimer:
    """Calls back once at a time of the monotonic clock. It must be made within a running loop and closed after use."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._file = TimerFile()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._file.descriptor, self._fire)

    def set(self, when: int) -> None:
        """Calls back at `when` nanoseconds of the monotonic clock (at once, if that is over), and at no other time."""
        self._file.set(max(when, 1))  # zero would disarm it

    def close(self) -> None:
        self._loop.remove_reader(self._file.descriptor)
        os.close(self._file.descriptor)

    def _fire(self) -> None:
        try:
            os.read(self._file.descriptor, 8)
        except BlockingIOError:
            return  # set anew since the loop woke
        self._callback()
