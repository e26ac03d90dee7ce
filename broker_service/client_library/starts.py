"""Announced starts of one client's subscriptions, and those who wait for them.

1. A subscription is of either kind. A composite one starts when all of its parts have started.
2. A start counts for one session of the client, and for one subscription under a name.
3. Nobody waits for a start that cannot come any more: not when the subscription was refused or withdrawn, nor when its
   client has detached or its session has closed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


class NotAnnouncedError(Exception):
    """The broker's routing protocol announces no starts of subscriptions."""


class NotStandingError(Exception):
    """The client has no subscription of that name (any more) whose start could be announced."""


@dataclass(slots=True)
class _Start:
    """The start of one subscription."""

    announced: bool = False
    ended: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Starts:
    """The starts of one client's subscriptions, by the client's own names."""

    def __init__(self) -> None:
        self._starts: dict[str, _Start] = {}

    async def wait(self, name: str) -> None:
        """Returns once the start of a subscription has been announced in the present session. Raises
        `NotStandingError`."""
        start = self._starts.get(name)
        while start is not None and not start.announced and not start.ended:
            start.changed.clear()
            await start.changed.wait()
        if start is None or start.ended:
            raise NotStandingError(f"the client has no subscription {name!r} that could start")

    def begin(self, name: str) -> None:
        """A subscription is made or replaced, and starts anew."""
        self._starts.setdefault(name, _Start()).announced = False

    def begin_anew(self) -> None:
        """The session broke: all subscriptions start anew."""
        for start in self._starts.values():
            start.announced = False

    def announce(self, name: str) -> None:
        """The start of a subscription is announced."""
        start = self._starts.get(name)
        if start is not None:
            start.announced = True
            start.changed.set()

    def end(self, name: str) -> None:
        """A subscription is refused or withdrawn."""
        start = self._starts.pop(name, None)
        if start is not None:
            start.ended = True
            start.changed.set()

    def end_all(self) -> None:
        """The client has detached, or its session has closed."""
        for name in list(self._starts):
            self.end(name)
