"""Ctrl-C, SIGTERM, a terminal that is closed: the first ends the run in order, the second tears it down at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from emulation.host.signals import handled_signals


class Interrupted(Exception):  # noqa: N818 - not an error: the user asked for it
    """The user wants the run to end in order."""


class QuickStop(BaseException):
    """The user wants the run to end now. A `BaseException`, so that nothing on the way takes it for a failure."""


class Interrupt:
    """Takes over the signals that ask a program to end, while it is entered. Belongs to the main thread."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._previous: dict[int, Any] = {}
        self.teardown = False
        """Set while what the run made is being removed: nothing may stop that half-way."""
        self.hurried = False
        """True where a program or a closed terminal asked for the end, and not a person with Ctrl-C: nothing long may
        follow, because such a program kills after some seconds."""

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._handle) for number in handled_signals()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Gives the signals back, where nothing is left to be ended in order. May be called twice."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    def check(self) -> None:
        """Raises `Interrupted` if the user has asked."""
        if self.asked:
            raise Interrupted

    def wait(self, seconds: float) -> None:
        """Sleeps. Raises `Interrupted` as soon as the user asks."""
        if self._asked.wait(max(0.0, seconds)):
            raise Interrupted

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked.is_set() and not self.teardown:
            self.teardown = True
            raise QuickStop
        self.hurried |= number != signal.SIGINT
        self._asked.set()
