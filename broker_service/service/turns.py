"""Turns of senders, without I/O: each neighbour and each client session gets its fair share of a broker's work.

Messages of a sender are handled as they come, but no more than a slice at a time. What is left of a frame waits, and in
each turn every sender that has messages waiting gets one further slice. So a flood of one sender delays each message of
another one by a slice, however large its frames are, and however much work a message is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from broker_service.service.service_queue import Handler

SLICE_MESSAGES = 128
"""Messages of a sender that are handled in one turn at most: a whole frame of a client that keeps to the defaults."""

SLICE_TIME = 5_000_000
"""Nanoseconds after which no further messages of a sender are handled in the same turn."""

_STEP = 16
"""Messages that are handled between two looks at the clock, fewer where they are long."""

_STEP_BYTES = 1 << 14
"""Bytes of them, about, because the work of a message grows with its length."""


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
