"""How fast a broker works: as fast as it can, or at the pace of slower hardware that is emulated on purpose."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from broker_service.config import BrokerConfig
from broker_service.timers.precise_timer import PreciseTimer

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


_WAITING_OVERHEAD = 256
"""Bytes that a waiting message takes besides those of its frame, about."""


class PacedService:
    """One server with a queue in front: each message occupies it for a time, and is handled when that is over.

    The time passes without work, so many brokers emulated on one machine do not slow each other down. Without service
    times everything is handled at once.

    Nothing that was submitted is dropped. Whoever brings what somebody else may send without end waits for `room`
    first; what a neighbour sends is bounded by its window.
    """

    def __init__(
        self,
        service_times: Callable[[], int] | None,
        clock: Callable[[], int] = time.monotonic_ns,
        most_bytes: int = sys.maxsize,
    ) -> None:
        """`service_times` draws the time of each message, in nanoseconds; `most_bytes` is what may wait for service."""
        self._service_times = service_times
        self._clock = clock
        self._queue: deque[tuple[int, float, Handler, Any]] = deque()
        """When it is to be handled, its size, by whom, and the message."""
        self._most_bytes = most_bytes
        self._bytes = 0.0
        self._room = asyncio.Event()
        self._room.set()
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

    @property
    def full(self) -> bool:
        """Whether so much waits that nothing further should be brought."""
        return not self._room.is_set()

    async def room(self) -> None:
        """Returns once there is room."""
        await self._room.wait()

    def change(self, service_times: Callable[[], int] | None) -> None:
        """What comes in from now on takes other times; what waits keeps its own, and its place."""
        self._service_times = service_times

    def submit(self, handler: Handler, messages: Sequence[Any], size: int = 0) -> None:
        """As `Service.submit`; `size` is the bytes of all these messages together."""
        draw = self._service_times
        rests = not self._queue
        if draw is None:
            if rests:
                handler(messages)
                return
            draw = _no_time
        now = self._clock()
        share = size / max(1, len(messages)) + _WAITING_OVERHEAD
        for message in messages:
            begin = max(now, self._busy_until)
            self._longest = max(self._longest, begin - now)
            self._busy_until = begin + draw()
            self._queue.append((self._busy_until, share, handler, message))
            self._bytes += share
        if self._bytes >= self._most_bytes:
            self._room.clear()
        if rests and self._queue:
            self._timer.set(self._queue[0][0])

    def close(self) -> None:
        self._queue.clear()
        self._timer.close()

    def _finish(self) -> None:
        now = self._clock()
        try:
            while self._queue and self._queue[0][0] <= now:
                _, share, handler, message = self._queue.popleft()
                self._bytes -= share
                handler((message,))
        finally:  # a handler that fails is the event loop's to report; whoever waits behind it is served all the same
            if self._queue:
                self._timer.set(self._queue[0][0])
            else:
                self._bytes = 0.0  # sums of shares are not exact
            if self._bytes < self._most_bytes:
                self._room.set()


def make_service(config: BrokerConfig) -> PacedService:
    """The pace that `BrokerConfig.service_time` asks for."""
    return PacedService(config.service_times() if config.service_time else None, most_bytes=config.limits.queue_bytes)


def _no_time() -> int:
    return 0
