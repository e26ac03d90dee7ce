"""A simulated broker's own work, in virtual time: what `broker_service.grpc_shell.service` is to a real one.

Frames wait in a queue before one server. A broker that is as fast as it can be handles a frame as a whole, at the cost
its calibration states; one with a set service time handles each message on its own, when the time of that is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from broker_service.config import BrokerConfig
from broker_service.grpc_shell.service import Handler, ImmediateService, Service
from emulation.simulation.calibration import Calibration, Cost
from emulation.simulation.event_queue import Agenda

PieceCost = Callable[[Sequence[Any]], int]
"""Nanoseconds that the messages of one piece of work take."""


class FrameServer:
    """One server with a queue in front, for which a frame is one piece of work."""

    def __init__(self, agenda: Agenda, cost: PieceCost) -> None:
        self._agenda = agenda
        self._cost = cost
        self._queue: deque[tuple[int, Handler, Sequence[Any]]] = deque()
        """Each with the time at which it will be done."""
        self._kept: deque[tuple[int, Handler, Sequence[Any]]] = deque()
        """What waits during a pause."""
        self._waiting = 0
        self._busy_until = 0
        self._longest = 0

    @property
    def waiting(self) -> int:
        return self._waiting

    @property
    def longest_wait(self) -> int:
        longest, self._longest = self._longest, 0
        return longest

    def submit(self, handler: Handler, messages: Sequence[Any]) -> None:
        agenda, begin = self._agenda, self._busy_until
        wait = begin - agenda.now
        if wait < 0:
            begin = agenda.now
        elif wait > self._longest:
            self._longest = wait
        self._busy_until = done = begin + self._cost(messages)
        self._waiting += len(messages)
        self._queue.append((done, handler, messages))
        agenda.at(done, self._finish)

    def close(self) -> None:
        """Nothing more is handled."""
        self._queue.clear()
        self._kept.clear()

    def follow(self, former: Service) -> None:
        """Does nothing before a former server of the same broker has done all that waits there."""
        if isinstance(former, FrameServer):
            self._busy_until = former._busy_until

    def pause(self) -> None:
        """Nothing more is handled until `resume`, and nothing may be submitted."""
        self._kept, self._queue = self._queue, deque()

    def resume(self, lasted: int) -> None:
        """All that waits is done so many nanoseconds later than it would have been without the pause."""
        self._busy_until += lasted
        self._queue = deque((done + lasted, handler, messages) for done, handler, messages in self._kept)
        for done, _, _ in self._queue:
            self._agenda.at(done, self._finish)

    def _finish(self) -> None:
        if self._queue and self._queue[0][0] <= self._agenda.now:
            _, handler, messages = self._queue.popleft()
            self._waiting -= len(messages)
            handler(messages)


class MessageServer(FrameServer):
    """One for which each message is a piece of work."""

    def submit(self, handler: Handler, messages: Sequence[Any]) -> None:
        submit = super().submit
        for message in messages:
            submit(handler, (message,))


def make_server(agenda: Agenda, config: BrokerConfig, calibration: Calibration) -> Service:
    """The server that a broker's service time and the calibration ask for."""
    cost = calibration.cost()
    if config.service_time:
        return MessageServer(agenda, _paced(config.service_times(), cost))
    if cost is None:
        return ImmediateService()
    return FrameServer(agenda, _framed(calibration.frame, cost))


def make_successor(former: Service, agenda: Agenda, config: BrokerConfig, calibration: Calibration) -> Service:
    """The server of a broker whose service time has changed; the former one does what waits there first."""
    made = make_server(agenda, config, calibration)
    if not isinstance(made, FrameServer) and former.waiting:
        made = FrameServer(agenda, lambda _: 0)
    if isinstance(made, FrameServer):
        made.follow(former)
    return made


def _paced(service_times: Callable[[], int], cost: Cost | None) -> PieceCost:
    if cost is None:
        return lambda _: service_times()
    return lambda messages: service_times() + cost(messages[0])


def _framed(frame: int, cost: Cost) -> PieceCost:
    return lambda messages: frame + sum(map(cost, messages))
