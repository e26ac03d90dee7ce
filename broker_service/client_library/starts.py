"""Announced starts of one client's subscriptions, and those who wait for them."""

from __future__ import annotations

import asyncio


class NotAnnouncedError(Exception):
    """The broker's routing protocol announces no starts of subscriptions."""


class Starts:
    """The subscriptions of one client that have started, by the client's own names."""

    def __init__(self) -> None:
        self._started: dict[str, asyncio.Event] = {}

    async def wait(self, name: str) -> None:
        """Returns once the start of a subscription has been announced in the present session."""
        await self._event(name).wait()

    def announce(self, name: str) -> None:
        """The start of a subscription is announced."""
        self._event(name).set()

    def forget(self, name: str) -> None:
        """A subscription is made, replaced or withdrawn."""
        if name in self._started:
            self._started[name].clear()

    def begin_anew(self) -> None:
        """The session broke: all subscriptions start anew."""
        for event in self._started.values():
            event.clear()

    def _event(self, name: str) -> asyncio.Event:
        return self._started.setdefault(name, asyncio.Event())
