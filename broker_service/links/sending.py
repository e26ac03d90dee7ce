"""Sending that takes time: the messages of one link direction leave one after the other.

A message that is being sent has left the output queue and is not on the wire yet. It stands for work that a broker
does for each neighbour separately: a remote call that waits for its answer, marshalling, a slow network interface. The
rules:

1. The sending of a message begins when it waits, the window has room for it and the sending of the one before it has
   ended. It ends a drawn time later; then the message is written.
2. A message that is being sent counts as in flight. When the stream breaks, it travels again like the others in
   flight, and its sending takes time again.
3. Links of one broker send side by side, each with `Turns` of its own. Or they share them (`brokers.sending: in-turn`):
   a broker's messages leave one after the other, as if one thread copied each to its neighbour. A link takes a turn
   when a message waits in its queue and it has none; the turn begins when those taken before have ended. The message
   leaves the queue when its turn begins.
4. A call that comes after the end of a sending begins the next one at that end, because the timers of a busy process
   run late and the late calls would otherwise add to the times; it does so for `LATEST` at most, because a process that
   was frozen has sent nothing meanwhile. No sending begins before its message was put into the queue.
5. Another send time applies from the next message on; the one that is being sent leaves at its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from broker_service.messages import Message
from record.time_units import SECOND

LATEST = 0.02
"""Seconds by which a call may be late without delaying the messages that wait."""

_LATEST = round(LATEST * SECOND)


class OutputQueue(Protocol):
    """The output queue of a link, as far as its messages are sent."""

    @property
    def sendable(self) -> bool:
        """True when a message may travel now."""

    @property
    def waiting_since(self) -> int: ...

    def take(self, most: int | None = None) -> list[Message]: ...


class Turns:
    """The turns in which messages are sent, of one link direction or of all that begin at a broker."""

    __slots__ = ("free_at",)

    def __init__(self) -> None:
        self.free_at = 0
        """The time at which the last turn that was taken ends."""

    def give_back(self, begin: int, end: int) -> None:
        """Gives back a turn that nothing was sent in. Where others have taken turns behind it, it passes unused."""
        if self.free_at == end:
            self.free_at = begin


class Sending:
    """The sending of one link direction. Times are nanoseconds of one clock that never runs backwards."""

    def __init__(self, queue: OutputQueue, draw: Callable[[], int], turns: Turns) -> None:
        self.draw: Callable[[], int] | None = draw
        """Draws the time of one message; None when sending takes no time any more."""
        self.ends_at: int | None = None
        """The time at which the message that is being sent has left; None while none is."""
        self._queue = queue
        self._turns = turns
        self._turn: tuple[int, int] | None = None
        """The begin and the end of the turn that was taken, until its message has left; None without one."""
        self.record: Callable[..., None] | None = None
        """Records the message that is being sent, which the queue has taken out for the first time, once it is known
        when it was `written`; None while there is none."""
        self._message: list[Message] = []
        """The message that is being sent; empty while none is."""

    @property
    def due_at(self) -> int | None:
        """The time of the next call: when the message that is being sent has left, or the turn begins that was taken;
        None when neither is ahead."""
        return self.ends_at if self._turn is None or self.ends_at is not None else self._turn[0]

    @property
    def over(self) -> bool:
        """True when sending takes no time any more and the last message that took time has left."""
        return self.draw is None and self._turn is None

    @property
    def unrecorded(self) -> Sequence[Message]:
        """The message that is being sent for the first time; empty while none is."""
        return self._message if self.record is not None else ()

    def advance(self, now: int) -> list[Message]:
        """Begins what may be sent. Returns the messages whose sending has ended since the last call, in order."""
        sent: list[Message] = []
        begin = now
        while (due := self.due_at) is None or due <= now:
            if self.ends_at is not None:
                sent += self._message
                self._record_written(now)
                begin = max(self.ends_at, self._queue.waiting_since, now - _LATEST)
                self.ends_at = self._turn = None
            if self._turn is None and not self._take_turn(begin):
                break
            self._begin(now)
        return sent

    def abandon(self) -> None:
        """Forgets the message that is being sent, and the turn that was taken, because the stream has ended."""
        if self._message:
            self._record_written(None)
        self._end_turn()

    def _take_turn(self, earliest: int) -> bool:
        """Takes a turn for the message that travels next, from a time on; false when none may travel."""
        if not self._queue.sendable:
            return False
        begin = max(earliest, self._turns.free_at)
        end = begin if self.draw is None else begin + self.draw()
        self._turns.free_at = end
        self._turn = begin, end
        return True

    def _begin(self, now: int) -> None:
        """Begins to send the next message in the turn that was taken, if that has come."""
        assert self._turn is not None
        begin, end = self._turn
        if begin > now:
            return
        self._message = self._queue.take(1)
        if self._message:
            self.ends_at = end
        else:
            self._end_turn()

    def _record_written(self, time: int | None) -> None:
        """Records that the message is written at a time, or never: its stream broke."""
        record, self.record = self.record, None
        if record is not None:
            record(written=time)

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turns.give_back(*self._turn)
        self.ends_at = self._turn = None
        self._message = []
