"""Reading at a rate: what a frame of the broker holds is read one by one, and no further frame before that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from broker_service.messages import BrokerFrame, Outcome


class SlowReading:
    """The parts of the frames that have come, and the time at which each is read. Times are seconds of one clock."""

    def __init__(self, rate: float) -> None:
        """`rate` is the number of notifications read in a second. Answers take no time of their own."""
        self._interval = 1 / rate
        self._read_until = 0.0
        self._parts: deque[tuple[float, BrokerFrame]] = deque()

    @property
    def next_at(self) -> float | None:
        """The time at which the next part is read; None where nothing waits."""
        return self._parts[0][0] if self._parts else None

    def take(self, frame: BrokerFrame, now: float) -> None:
        """A frame has come. Each of its parts is read behind what came before."""
        at = max(self._read_until, now)
        for event in frame.events:
            if event.outcome is Outcome.NOTIFIED:
                at += self._interval
            self._parts.append((at, BrokerFrame((event,))))
        if frame.acknowledged:
            self._parts.append((at, msgspec.structs.replace(frame, events=())))
        self._read_until = at

    def due(self, now: float) -> Iterator[BrokerFrame]:
        """The parts that are read by now."""
        while self._parts and self._parts[0][0] <= now:
            yield self._parts.popleft()[1]
