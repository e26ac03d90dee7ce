"""A simulated broker's own work: its service queue (`broker_service.service`), driven in virtual time.

A broker that is as fast as it can be handles a frame as a whole, at the cost that its calibration states; one with a
set service time handles each message on its own, when the time of that is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from broker_service.config import BrokerConfig
from broker_service.service import Handler, LongWaits, ServiceQueue, ServiceTotals, Work, single_messages, whole_frames
from emulation.planning.calibration import Calibration
from emulation.simulation.charging import Cost, work_cost
from emulation.simulation.event_queue import EventQueue
from record.service_time import ServiceTime


class SimulatedServer:
    """Calls `ServiceQueue.finish` when a piece of work is done."""

    def __init__(self, events: EventQueue, work: Work | None, long_waits: LongWaits | None = None) -> None:
        self._events = events
        self._queue = ServiceQueue(work, long_waits=long_waits)
        self._paused_at: int | None = None

    @property
    def waiting(self) -> int:
        """Messages that came in and are not handled yet."""
        return self._queue.waiting

    @property
    def busy(self) -> int:
        """Nanoseconds in which the broker was occupied until now."""
        return self._queue.busy(self._events.now)

    @property
    def longest_wait(self) -> int:
        """The longest wait for service since this was read last, in nanoseconds."""
        return self._queue.longest_wait

    def totals(self) -> ServiceTotals:
        """Work since the start; none where everything is free."""
        return self._queue.totals(self._events.now)

    def submit(self, handler: Handler, messages: Sequence[Any]) -> None:
        """Has messages handled, which came in together."""
        queue, events = self._queue, self._events
        if queue.work is None and not queue.pieces:
            handler(messages)
            return
        for done in queue.submit(events.now, handler, messages):
            events.at(done, self._finish)

    def change(self, work: Work | None) -> None:
        """Messages that come in from now on take other times; those that wait keep theirs, and their place."""
        self._queue.work = work

    def pause(self) -> None:
        """Has nothing more handled until `resume`; nothing may be submitted meanwhile."""
        self._paused_at = self._events.now

    def resume(self) -> None:
        """Ends a pause: messages that wait are handled later by the length of the pause."""
        if self._paused_at is not None:
            lasted, self._paused_at = self._events.now - self._paused_at, None
            for done in self._queue.postpone(lasted):
                self._events.at(done, self._finish)

    def close(self) -> None:
        """Nothing more is handled."""
        self._queue.clear()

    def _finish(self) -> None:
        if self._paused_at is None:
            self._queue.finish(self._events.now)


def work_of(config: BrokerConfig, calibration: Calibration, service_time: ServiceTime) -> Work | None:
    """The work that a broker's service time and the calibration ask for; None where everything is free."""
    cost = work_cost(calibration)
    if service_time:
        return single_messages(_paced(config.service_times(service_time), cost))
    if cost is None:
        return None
    return whole_frames(calibration.frame, cost)


def _paced(service_times: Callable[[], int], cost: Cost | None) -> Cost:
    if cost is None:
        return lambda _: service_times()
    return lambda message: service_times() + cost(message)
