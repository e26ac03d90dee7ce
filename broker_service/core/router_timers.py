"""The running timers of one router, and how many of them count as work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from broker_service.routing.interface import SetTimer, TimerKey


class ScheduledCall(Protocol):
    """A call that a shell makes later, unless it is cancelled first."""

    def cancel(self) -> None: ...


Schedule = Callable[[SetTimer, Callable[[], None]], ScheduledCall]
"""Has a shell call back when a timer has run out."""


class RouterTimers:
    """At most one timer runs for each key."""

    def __init__(self, schedule: Schedule, run_out: Callable[[TimerKey], None]) -> None:
        """`run_out` is called with the key of a timer that has run out, which does not run any more then."""
        self._schedule = schedule
        self._run_out = run_out
        self._running: dict[TimerKey, ScheduledCall] = {}
        self._awaited: set[TimerKey] = set()

    @property
    def awaited(self) -> int:
        """Running timers that count as work (`SetTimer.awaited`)."""
        return len(self._awaited)

    def set(self, timer: SetTimer) -> None:
        """Starts a timer, in place of a running one of the same key."""
        if timer.key in self._running:
            self.cancel(timer.key)
        if timer.awaited:
            self._awaited.add(timer.key)
        self._running[timer.key] = self._schedule(timer, partial(self._fire, timer.key))

    def cancel(self, key: TimerKey) -> None:
        """Ends a timer; does nothing when none of this key runs."""
        running = self._running.pop(key, None)
        if running is not None:
            running.cancel()
            self._awaited.discard(key)

    def cancel_all(self) -> None:
        for key in list(self._running):
            self.cancel(key)

    def _fire(self, key: TimerKey) -> None:
        del self._running[key]
        self._awaited.discard(key)
        self._run_out(key)
