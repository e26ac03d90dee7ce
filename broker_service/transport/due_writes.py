"""Writes that wait for the end of the callback in which they became due.

A callback of the event loop that handles a frame may put many messages into the queues of several streams. Each stream
writes once, when all of them are there, and within the same callback: a task that wrote would cost the event loop a
further turn for each frame. Before a stream makes the frames that it writes, it calls `before`, by which all that the
messages rely on is made to last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from record.callbacks import do_nothing


class DueWrites:
    """The writes that are due at the end of a callback. `with due_writes:` surrounds a callback; a write that becomes
    due elsewhere is made soon."""

    def __init__(self) -> None:
        self.before: Callable[[], None] = do_nothing
        """Called before each write of a stream. Whatever it raises ends that stream, which then writes nothing."""
        self.waiting: list[Callable[[], None]] = []
        """Writes that are due. Within a callback, one more need only be appended."""
        self.callbacks = 0
        """Surrounded callbacks that run now, one within the other."""

    def add(self, write: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
        """Has a write made once, outside of callbacks by the event loop, which need not run yet. It must not raise."""
        waiting = self.waiting
        if not waiting and not self.callbacks:
            loop.call_soon(self.make)
        waiting.append(write)

    def __enter__(self) -> None:
        self.callbacks += 1

    def __exit__(self, *_: object) -> None:
        self.callbacks -= 1
        if self.waiting and not self.callbacks:
            self.make()

    def make(self) -> None:
        """Makes the writes that are due, and those that become due meanwhile."""
        waiting = self.waiting
        for write in waiting:
            write()
        waiting.clear()
