"""The queue of work in front of a broker, without I/O: which messages are handled when.

One server handles pieces of work one after another, in the order they came in. A piece occupies the server for a time,
and is handled when that time is over; the time passes without work, so many brokers emulated on one machine do not slow
each other down. Without times (`Work` is None) everything is handled as soon as all before it is.

Nothing that was submitted is dropped. A sender that nothing else bounds waits while the queue is `full`.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

Handler = Callable[[Sequence[Any]], None]
"""Handles messages of one sender, in order."""

_WAITING_OVERHEAD: Final = 256
"""Bytes that a waiting message takes besides those of its frame, about."""


class ServiceTotals(NamedTuple):
    """Work of a broker since its start. The differences of two readings give the means of the time between them."""

    messages: int
    """Messages that came in."""
    waited: int
    """Nanoseconds that these wait before their service begins, all together."""
    occupied: int
    """Nanoseconds in which the broker was occupied."""


def no_service() -> ServiceTotals:
    """Work of a broker that takes no time."""
    return ServiceTotals(0, 0, 0)


Piece = tuple[Sequence[Any], int]
"""Messages that are handled together, and the nanoseconds for which they occupy the server."""

Work = Callable[[Sequence[Any]], Iterable[Piece]]
"""Divides messages that came in together into pieces of work, in order."""


def single_messages(cost: Callable[[Any], int]) -> Work:
    """Work in which each message is a piece; `cost` is its nanoseconds."""
    return lambda messages: [((message,), cost(message)) for message in messages]


def whole_frames(frame: int, cost: Callable[[Any], int]) -> Work:
    """Work in which a frame is a piece: `frame` nanoseconds, and `cost` for each message in it."""

    def work(messages: Sequence[Any]) -> Iterable[Piece]:
        time = frame
        for message in messages:
            time += cost(message)
        return ((messages, time),)

    return work


class LongWaits(NamedTuple):
    """A report of messages that have to wait for long."""

    least: int
    """The shortest wait that is reported, in nanoseconds."""
    report: Callable[[Sequence[Any], int, int], None]
    """Called when messages come in, with the time at which their turn comes and with their wait until then."""


def _at_once(messages: Sequence[Any]) -> Iterable[Piece]:
    return ((messages, 0),)


class ServiceQueue:
    """The queue of one server. Times are nanoseconds of one clock that never runs backwards."""

    def __init__(self, work: Work | None, most_bytes: int = sys.maxsize, long_waits: LongWaits | None = None) -> None:
        """`most_bytes` is how much may wait before the queue is full. Nothing reports waits without `long_waits`."""
        self.work = work
        """The division and the times of messages that come in from now on. After a change, those that wait keep theirs,
        and their place."""
        self._most_bytes = most_bytes
        self._long_waits = long_waits
        self._least_reported = sys.maxsize if long_waits is None else long_waits.least
        self.pieces: deque[tuple[int, int, Handler, Sequence[Any]]] = deque()
        """Pieces that wait: the time at which each is due, its bytes, its handler, and its messages. Tuples, because
        they are quicker than a class."""
        self._bytes = 0
        self._busy_until = 0
        self._idle = 0
        """Nanoseconds up to `_busy_until` in which nothing was to be done, pauses included."""
        self._longest = 0
        self._messages = 0
        self._waited = 0
        """Nanoseconds that all messages wait that came in so far."""

    @property
    def waiting(self) -> int:
        """Messages that came in and are not handled yet."""
        return sum(len(messages) for _, _, _, messages in self.pieces)

    @property
    def longest_wait(self) -> int:
        """The longest wait for service since this was read last, in nanoseconds."""
        longest, self._longest = self._longest, 0
        return longest

    @property
    def full(self) -> bool:
        """True when the queue is so long that senders should wait."""
        return self._bytes >= self._most_bytes

    @property
    def next_done(self) -> int | None:
        """The time at which the first piece is due; None when nothing waits."""
        return self.pieces[0][0] if self.pieces else None

    def busy(self, now: int) -> int:
        """Nanoseconds in which the server was occupied until `now`."""
        return min(now, self._busy_until) - self._idle

    def totals(self, now: int) -> ServiceTotals:
        """Work since the start; pauses do not count."""
        return ServiceTotals(self._messages, self._waited, self.busy(now))

    def submit(self, now: int, handler: Handler, messages: Sequence[Any], size: int = 0) -> Sequence[int]:
        """Queues messages that came in together, `size` bytes. Returns the time of the `finish` call of each piece."""
        share = _WAITING_OVERHEAD + size // len(messages) if size else _WAITING_OVERHEAD
        done, dones = self._busy_until, []
        self._messages += len(messages)
        for piece, cost in (self.work or _at_once)(messages):
            wait, number = done - now, len(piece)
            if wait < 0:
                self._idle -= wait
                done = now
            elif wait > self._longest:
                self._longest = wait
            if wait > 0:
                self._waited += wait * number
                if wait >= self._least_reported:
                    self._report(piece, done, wait)
            done += cost
            occupied = share * number
            self._bytes += occupied
            self.pieces.append((done, occupied, handler, piece))
            dones.append(done)
        self._busy_until = done
        return dones

    def _report(self, piece: Sequence[Any], turn: int, wait: int) -> None:
        if self._long_waits is not None:
            self._long_waits.report(piece, turn, wait)

    def finish(self, now: int) -> bool:
        """Handles the first piece if it is due by now. Returns True if it did."""
        pieces = self.pieces
        if not pieces or pieces[0][0] > now:
            return False
        _, occupied, handler, messages = pieces.popleft()
        self._bytes -= occupied
        handler(messages)
        return True

    def postpone(self, nanoseconds: int) -> Sequence[int]:
        """Delays all pieces that wait by this time. Returns the new time of the `finish` call of each piece."""
        self._busy_until += nanoseconds
        self._idle += nanoseconds
        self.pieces = deque(
            (done + nanoseconds, occupied, handler, messages) for done, occupied, handler, messages in self.pieces
        )
        return [piece[0] for piece in self.pieces]

    def clear(self) -> None:
        """Forgets everything that waits."""
        self.pieces.clear()
        self._bytes = 0
