"""The work in front of a broker, without I/O: which messages are handled when.

*Turns.* Each neighbour and each client session gets its fair share of a broker's work. Messages of a sender are handled
as they come, but no more than a slice at a time. What is left of a frame waits, and in each turn every sender that has
messages waiting gets one further slice. So a flood of one sender delays each message of another one by a slice, however
large its frames are, and however much work a message is.

*Service times.* One server handles pieces of work one after another, in the order they came in. A piece occupies the
server for a time, and is handled when that time is over; the time passes without work, so many brokers emulated on one
machine do not slow each other down. Without times (`Work` is None) everything is handled as soon as all before it is.
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

SLICE_MESSAGES = 128
"""Messages of a sender that are handled in one turn at most: a whole frame of a client that keeps to the defaults."""

SLICE_TIME = 5_000_000
"""Nanoseconds after which no further messages of a sender are handled in the same turn."""

_STEP = 16
"""Messages that are handled between two looks at the clock, fewer where they are long."""

_STEP_BYTES = 1 << 14
"""Bytes of them, about, because the work of a message grows with its length."""


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


class _Waiting(NamedTuple):
    """Messages of a sender that wait."""

    messages: Sequence[Any]
    step: int
    """Number of messages that are handled between two looks at the clock."""


class Turns:
    """The messages of all senders that wait for their turn. `clock` returns nanoseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.waiting = 0
        """Messages that came in and are not handled yet."""
        self._clock = clock
        self.senders: dict[Handler, _Waiting] = {}
        """Waiting messages by sender, in the order in which they came to wait."""

    def submit(self, handler: Handler, messages: Sequence[Any], size: int = 0) -> None:
        """Hands on messages that arrived together in `size` bytes: those of the first slice now, the others when
        `take` is called."""
        step = max(1, min(_STEP, len(messages) * _STEP_BYTES // size)) if size else _STEP
        former = self.senders.get(handler)
        if former is not None:
            self.senders[handler] = _Waiting([*former.messages, *messages], min(former.step, step))
            self.waiting += len(messages)
        elif len(messages) <= step:
            handler(messages)
        else:
            self._handle(handler, messages, step)

    def take(self) -> None:
        """A turn: handles a slice of every sender that has messages waiting."""
        for handler in list(self.senders):
            messages, step = self.senders.pop(handler)
            self.waiting -= len(messages)
            self._handle(handler, messages, step)

    def take_all(self) -> list[tuple[Handler, Sequence[Any]]]:
        """Everything that waits, by sender; nothing of it is handled here."""
        waiting = [(handler, messages) for handler, (messages, _) in self.senders.items()]
        self.senders.clear()
        self.waiting = 0
        return waiting

    def _handle(self, handler: Handler, messages: Sequence[Any], step: int) -> None:
        """Handles a slice; the rest waits."""
        if len(messages) <= step:
            handler(messages)
            return
        begin, handled, most = self._clock(), 0, min(len(messages), SLICE_MESSAGES)
        while handled < most:
            handler(messages[handled : handled + step])
            handled += step
            if self._clock() - begin >= SLICE_TIME:
                break
        if handled < len(messages):
            rest = messages[handled:]
            self.senders[handler] = _Waiting(rest, step)
            self.waiting += len(rest)
