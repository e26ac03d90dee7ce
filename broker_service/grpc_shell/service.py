"""The work of a broker process: as fast as the machine allows, or at the pace of slower hardware that is emulated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from broker_service.config import BrokerConfig
from broker_service.service import Handler, LongWaits, ServiceQueue, ServiceTotals, Turns, Work, single_messages
from broker_service.transport.duplex import DueWrites
from broker_service.transport.precise_timer import PreciseTimer
from record.service_time import ServiceTime


class Service:
    """Has messages handled: by turns of their senders, or when their service time is over."""

    def __init__(self, queue: ServiceQueue, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.due_writes = DueWrites()
        """Writes of all streams to which handled messages lead."""
        self._queue = queue
        self._turns = Turns(clock)
        self._clock = clock
        self._progress = asyncio.Event()
        """Set when messages were handled that had waited."""
        self._timer = PreciseTimer(self._finish)
        self._loop = asyncio.get_running_loop()
        self._turn: asyncio.Handle | None = None
        self._at_once = 0
        """Messages that were handled without the queue."""

    @property
    def waiting(self) -> int:
        """Messages that came in and are not handled yet."""
        return self._queue.waiting + self._turns.waiting

    @property
    def longest_wait(self) -> int:
        """The longest wait for service since this was read last, in nanoseconds."""
        return self._queue.longest_wait

    def totals(self) -> ServiceTotals:
        """Work since the start. The broker is occupied by emulated service and by what its process computes."""
        queued = self._queue.totals(self._clock())
        return ServiceTotals(queued.messages + self._at_once, queued.waited, queued.occupied + time.process_time_ns())

    def holds(self, handler: Handler) -> bool:
        """True when a sender that nothing else bounds should wait: its messages wait for their turn, or the queue is
        full."""
        return handler in self._turns.senders or bool(self._queue.pieces and self._queue.full)

    def waits(self, handler: Handler) -> bool:
        """True when messages of this sender wait for its turn."""
        return handler in self._turns.senders

    async def progress(self) -> None:
        """Returns once messages were handled that had waited."""
        self._progress.clear()
        await self._progress.wait()

    def change(self, work: Work | None) -> None:
        """Messages that come in from now on take other times; those that wait keep theirs, and their place."""
        self._queue.work = work
        if work is not None:
            for handler, messages in self._turns.take_all():
                self._at_once -= len(messages)
                self.submit(handler, messages)

    def submit(self, handler: Handler, messages: Sequence[Any], size: int = 0) -> bool:
        """Has messages of a sender handled, which came in together in `size` bytes; each sender has one `handler`.

        Returns what `holds` does.
        """
        queue = self._queue
        if queue.work is None and not queue.pieces:  # handled at once, without the queue
            self._at_once += len(messages)
            if len(messages) == 1 and handler not in self._turns.senders:
                handler(messages)  # no slice is shorter
                return False
            self._turns.submit(handler, messages, size)
            if self._turns.waiting:
                self._schedule_turn()
            return handler in self._turns.senders
        rests = queue.next_done is None
        queue.submit(self._clock(), handler, messages, size)
        if rests:
            self._set_timer()
        return self.holds(handler)

    def close(self) -> None:
        self._queue.clear()
        self._turns.take_all()
        self._timer.close()
        if self._turn is not None:
            self._turn.cancel()

    def _schedule_turn(self) -> None:
        if self._turns.waiting and self._turn is None:
            self._turn = self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        try:
            with self.due_writes:
                self._turns.take()
        finally:
            self._schedule_turn()
            self._progress.set()

    def _finish(self) -> None:
        now = self._clock()
        try:
            with self.due_writes:
                while self._queue.finish(now):
                    pass
        finally:  # a handler that fails is the event loop's to report; the pieces behind it are served all the same
            self._set_timer()
            self._progress.set()

    def _set_timer(self) -> None:
        if (done := self._queue.next_done) is not None:
            self._timer.set(done)


def make_service(config: BrokerConfig, long_waits: LongWaits | None = None) -> Service:
    """The pace that `BrokerConfig.service_time` asks for."""
    return Service(ServiceQueue(paced_work(config, config.service_time), config.limits.queue_bytes, long_waits))


def paced_work(config: BrokerConfig, service_time: ServiceTime) -> Work | None:
    """Work that takes a service time for each message, drawn from the broker's own stream; None for no time."""
    if not service_time:
        return None
    draw = config.service_times(service_time)
    return single_messages(lambda _: draw())
