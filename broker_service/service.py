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
from dataclasses import dataclass
from typing import Any, Protocol

Handler = Callable[[Sequence[Any]], None]
"""Handles messages of one sender, in order."""

_WAITING_OVERHEAD = 256
"""Bytes that a waiting message takes besides those of its frame, about."""


class Work(Protocol):
    """Division of messages that came in together into pieces of work, each of which occupies the server for a time."""

    def pieces(self, messages: Sequence[Any]) -> Iterable[tuple[Sequence[Any], int]]:
        """The pieces in order, each with its nanoseconds."""


@dataclass(frozen=True, slots=True)
class WholeFrames:
    """A frame is one piece."""

    cost: Callable[[Sequence[Any]], int]
    """Nanoseconds for the messages of a frame."""

    def pieces(self, messages: Sequence[Any]) -> Iterable[tuple[Sequence[Any], int]]:
        return ((messages, self.cost(messages)),)


@dataclass(frozen=True, slots=True)
class SingleMessages:
    """Each message is a piece."""

    cost: Callable[[Any], int]
    """Nanoseconds for a message."""

    def pieces(self, messages: Sequence[Any]) -> Iterable[tuple[Sequence[Any], int]]:
        return [((message,), self.cost(message)) for message in messages]


_AT_ONCE = WholeFrames(lambda _: 0)


class ServiceQueue:
    """See the module. Times are nanoseconds of one clock that never runs backwards."""

    def __init__(self, work: Work | None, most_bytes: int = sys.maxsize) -> None:
        """`most_bytes` is how much may wait before the queue is full."""
        self.waiting = 0
        """Messages that came in and are not handled yet."""
        self._work = work
        self._most_bytes = most_bytes
        self._pieces: deque[tuple[int, float, Handler, Sequence[Any]]] = deque()
        """With the time at which each is to be handled, and its bytes; a tuple is quicker than a class here."""
        self._bytes = 0.0
        self._busy_until = 0
        self._longest = 0

    @property
    def longest_wait(self) -> int:
        """The longest wait for service since this was read last, in nanoseconds."""
        longest, self._longest = self._longest, 0
        return longest

    @property
    def full(self) -> bool:
        """Whether so much waits that nothing further should be brought."""
        return self._bytes >= self._most_bytes

    @property
    def next_done(self) -> int | None:
        """The time at which the first piece is to be handled; None when nothing waits."""
        return self._pieces[0][0] if self._pieces else None

    @property
    def immediate(self) -> bool:
        """Whether messages that come in now are to be handled at once, without this queue."""
        return self._work is None and not self._pieces

    def change(self, work: Work | None) -> None:
        """Messages that come in from now on take other times; those that wait keep theirs, and their place."""
        self._work = work

    def submit(self, now: int, handler: Handler, messages: Sequence[Any], size: int = 0) -> Sequence[int]:
        """Queues messages that came in together, `size` bytes; returns when `finish` is to be called for each piece."""
        share = size / max(1, len(messages)) + _WAITING_OVERHEAD
        dones = []
        for piece, cost in (self._work or _AT_ONCE).pieces(messages):
            begin = self._busy_until
            wait = begin - now
            if wait < 0:
                begin = now
            elif wait > self._longest:
                self._longest = wait
            self._busy_until = done = begin + cost
            occupied = share * len(piece)
            self._bytes += occupied
            self.waiting += len(piece)
            self._pieces.append((done, occupied, handler, piece))
            dones.append(done)
        return dones

    def finish(self, now: int) -> bool:
        """Has the first piece handled if it is done by now. Returns whether it was."""
        pieces = self._pieces
        if not pieces or pieces[0][0] > now:
            return False
        _, size, handler, messages = pieces.popleft()
        self.waiting -= len(messages)
        self._bytes = self._bytes - size if pieces else 0.0  # sums of shares are not exact
        handler(messages)
        return True

    def postpone(self, nanoseconds: int) -> Sequence[int]:
        """Everything that waits is done so much later; returns when `finish` is to be called for each piece."""
        self._busy_until += nanoseconds
        self._pieces = deque(
            (done + nanoseconds, size, handler, messages) for done, size, handler, messages in self._pieces
        )
        return [piece[0] for piece in self._pieces]

    def clear(self) -> None:
        """Forgets everything that waits."""
        self._pieces.clear()
        self._bytes = 0.0
        self.waiting = 0
