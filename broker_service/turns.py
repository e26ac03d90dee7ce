"""Turns of senders, without I/O: each neighbour and each client session gets its fair share of a broker's work.

Messages of a sender are handled as they come, but no more than a slice at a time. What is left of a larger frame waits,
and in each turn every sender that has messages waiting gets one further slice. So a flood of one sender delays each
message of another one by a slice, however large its frames are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from broker_service.service import Handler

SLICE_MESSAGES = 128
"""Messages of a sender that are handled in one turn at most: a whole frame of a client that keeps to the defaults."""

SLICE_TIME = 5_000_000
"""Nanoseconds after which no further messages of a sender are handled in the same turn."""

_WHOLE_FRAME = 64
"""Messages that are handled together whatever time they take: a frame of a neighbour that keeps to the defaults."""

_STEP = 16
"""Messages of a larger frame that are handled between two looks at the clock."""


class Turns:
    """See the module. `clock` returns nanoseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.waiting = 0
        """Messages that came in and are not handled yet."""
        self._clock = clock
        self._waiting: dict[Handler, Sequence[Any]] = {}
        """By sender, in the order in which they came to wait."""

    def submit(self, handler: Handler, messages: Sequence[Any]) -> None:
        """Has messages handled: those of the first slice now, the others when `take` is called."""
        former = self._waiting.get(handler)
        if former is not None:
            self._waiting[handler] = [*former, *messages]
            self.waiting += len(messages)
        elif rest := self._handle(handler, messages):
            self._waiting[handler] = rest
            self.waiting += len(rest)

    def take(self) -> None:
        """A turn: handles a slice of every sender that has messages waiting."""
        for handler in list(self._waiting):
            messages = self._waiting.pop(handler)
            self.waiting -= len(messages)
            if rest := self._handle(handler, messages):
                self._waiting[handler] = rest
                self.waiting += len(rest)

    def waits(self, handler: Handler) -> bool:
        """True when messages of this sender wait."""
        return handler in self._waiting

    def take_all(self) -> list[tuple[Handler, Sequence[Any]]]:
        """Everything that waits, by sender; nothing of it is handled here."""
        waiting, self._waiting = list(self._waiting.items()), {}
        self.waiting = 0
        return waiting

    def _handle(self, handler: Handler, messages: Sequence[Any]) -> Sequence[Any]:
        """Handles a slice; returns the rest."""
        if len(messages) <= _WHOLE_FRAME:
            handler(messages)
            return ()
        begin, handled = self._clock(), 0
        while handled < min(len(messages), SLICE_MESSAGES):
            handler(messages[handled : handled + _STEP])
            handled += _STEP
            if self._clock() - begin >= SLICE_TIME:
                break
        return messages[handled:]
