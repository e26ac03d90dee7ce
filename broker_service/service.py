"""How fast a broker works: as fast as it can, or at the pace of slower hardware that is emulated on purpose."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from broker_service.config import BrokerConfig
from broker_service.precise_timer import PreciseTimer

Handler = Callable[[Sequence[Any]], None]


class Service(Protocol):
    """Has messages handled, in the order they came in."""

    @property
    def waiting(self) -> int:
        """Messages that came in and are not handled yet."""

    @property
    def longest_wait(self) -> int:
        """The longest wait for service since this was read last, in nanoseconds."""

    def submit(self, handler: Handler, messages: Sequence[Any]) -> None:
        """Has `handler` called with the messages, at once or one by one as their service ends."""

    def close(self) -> None: ...


class ImmediateService:
    """No pace but the machine's."""

    waiting = 0
    longest_wait = 0

    def submit(self, handler: Handler, messages: Sequence[Any]) -> None:
        handler(messages)

    def close(self) -> None:
        """Has nothing to close."""


class PacedService:
    """One server with a queue in front: each message occupies it for a time, and is handled when that is over.

    The time passes without work, so many brokers emulated on one machine do not slow each other down. Without service
    times everything is handled at once.
    """

    def __init__(self, service_times: Callable[[], int] | None, clock: Callable[[], int] = time.monotonic_ns) -> None:
        """`service_times` draws the time of each message, in nanoseconds."""
        self._service_times = service_times
        self._clock = clock
        self._queue: deque[tuple[int, Handler, Any]] = deque()
        self._busy_until = 0
        self._longest = 0
        self._timer = PreciseTimer(self._finish)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def longest_wait(self) -> int:
        longest, self._longest = self._longest, 0
        return longest

    def change(self, service_times: Callable[[], int] | None) -> None:
        """What comes in from now on takes other times; what waits keeps its own, and its place."""
        self._service_times = service_times

    def submit(self, handler: Handler, messages: Sequence[Any]) -> None:
        draw = self._service_times
        rests = not self._queue
        if draw is None:
            if rests:
                handler(messages)
                return
            draw = _no_time
        now = self._clock()
        for message in messages:
            begin = max(now, self._busy_until)
            self._longest = max(self._longest, begin - now)
            self._busy_until = begin + draw()
            self._queue.append((self._busy_until, handler, message))
        if rests and self._queue:
            self._timer.set(self._queue[0][0])

    def close(self) -> None:
        self._queue.clear()
        self._timer.close()

    def _finish(self) -> None:
        now = self._clock()
        try:
            while self._queue and self._queue[0][0] <= now:
                _, handler, message = self._queue.popleft()
                handler((message,))
        finally:  # a handler that fails is the event loop's to report; whoever waits behind it is served all the same
            if self._queue:
                self._timer.set(self._queue[0][0])


def make_service(config: BrokerConfig) -> PacedService:
    """The pace that `BrokerConfig.service_time` asks for."""
    return PacedService(config.service_times() if config.service_time else None)


def _no_time() -> int:
    return 0
