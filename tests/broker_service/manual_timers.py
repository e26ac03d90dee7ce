"""Timers of routers that run out when a test says so."""

from __future__ import annotations

from collections.abc import Callable

from broker_service.routing.interface import SetTimer, TimerKey


class ManualTimers:
    """The timers of one broker; `schedule` is what a `Broker` wants."""

    def __init__(self) -> None:
        self.running: dict[TimerKey, ManualTimer] = {}

    def schedule(self, timer: SetTimer, call: Callable[[], None]) -> ManualTimer:
        made = self.running[timer.key] = ManualTimer(self, timer, call)
        return made

    def fire(self, key: TimerKey) -> None:
        """Lets a timer run out."""
        self.running.pop(key).call()


class ManualTimer:
    def __init__(self, timers: ManualTimers, timer: SetTimer, call: Callable[[], None]) -> None:
        self.after = timer.after
        self.call = call
        self._timers = timers
        self._key = timer.key

    def cancel(self) -> None:
        if self._timers.running.get(self._key) is self:
            del self._timers.running[self._key]
