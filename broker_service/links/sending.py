"""Sending that takes time: the messages of one link direction leave one after the other.

A message that is being sent has left the output queue and is not on the wire yet. It stands for work that a broker
does for each neighbour separately: a remote call that waits for its answer, marshalling, a slow network interface. The
rules:

1. The sending of a message begins when it waits, the window has room for it and the sending of the one before it has
   ended. It ends a drawn time later; then the message is written.
2. A message that is being sent counts as in flight. When the stream breaks, it travels again like the others in
   flight, and its sending takes time again.
3. Links of one broker send side by side.
4. A call that comes after the end of a sending begins the next one at that end, because the timers of a busy process
   run late and the late calls would otherwise add to the times; it does so for `LATEST` at most, because a process that
   was frozen has sent nothing meanwhile. No sending begins before its message was put into the queue.
5. Another send time applies from the next message on; the one that is being sent leaves at its time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker_service.messages import Message
from record.time_units import SECOND

LATEST = 0.02
"""Seconds by which a call may be late without delaying the messages that wait."""

_LATEST = round(LATEST * SECOND)


class OutputQueue(Protocol):
    """The output queue of a link, as far as its messages are sent."""

    @property
    def waiting_since(self) -> int: ...

    def take(self, most: int | None = None) -> list[Message]: ...

    def note_written(self, time: int | None) -> None:
        """Notes that the message which was taken last is written at a time, or never: its stream broke."""


class Sending:
    """The sending of one link direction. Times are nanoseconds of one clock that never runs backwards."""

    def __init__(self, queue: OutputQueue, draw: Callable[[], int]) -> None:
        self.draw: Callable[[], int] | None = draw
        """Draws the time of one message; None when sending takes no time any more."""
        self.ends_at: int | None = None
        """The time at which the message that is being sent has left; None while none is."""
        self._queue = queue
        self._message: list[Message] = []
        """The message that is being sent; empty while none is."""

    @property
    def over(self) -> bool:
        """True when sending takes no time any more and the last message that took time has left."""
        return self.draw is None and self.ends_at is None

    def advance(self, now: int) -> list[Message]:
        """Begins what may be sent. Returns the messages whose sending has ended since the last call, in order."""
        sent: list[Message] = []
        begin = now
        while self.ends_at is None or self.ends_at <= now:
            if self.ends_at is not None:
                sent += self._message
                self._queue.note_written(now)
                begin = max(self.ends_at, self._queue.waiting_since, now - _LATEST)
            self._message = self._queue.take(1)
            if not self._message:
                self.ends_at = None
                break
            self.ends_at = begin if self.draw is None else begin + self.draw()
        return sent

    def abandon(self) -> None:
        """Forgets the message that is being sent, because the stream has ended."""
        if self._message:
            self._queue.note_written(None)
        self.ends_at = None
        self._message = []
