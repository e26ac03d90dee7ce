"""The contract between an adapter and a system, and what passes from the threads of the system's client library."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec

from broker_service.language import Publication, Subscription
from emulation.adapters.topics import Filter

_ENDS_WITHIN = 2.0
"""Seconds in which a server that has closed its client's connection ends, if it closed it because it ends."""


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """The payload in which a publication travels through the system."""

    broker: str
    """The broker where it was published."""
    incarnation: int
    number: int
    """Number of the publication among those of the broker's incarnation."""
    id: str
    published: int
    body: bytes


Arrived = Callable[[bytes, Filter | None], None]
"""Takes a payload, and the filter that let it through where the system tells."""


class System(Protocol):
    """A server of a deployed system, and its client. Calls do not wait, but for `start` and `stop`."""

    async def start(self, arrived: Arrived) -> None:
        """Starts the server and returns once it has accepted the client. `arrived` may be called from any thread.

        Raises `SystemEndedError` when the server ends instead.
        """

    def cover(self, subscription: Subscription) -> Filter:
        """The narrowest filter of the system that lets through whatever a subscription matches."""

    def watch(self, chosen: Filter) -> None:
        """Has publications come that this filter lets through."""

    def unwatch(self, chosen: Filter) -> None:
        """Ends `watch`."""

    def publish(self, publication: Publication, payload: bytes) -> None:
        """Has a payload travel to wherever a filter lets its publication through."""

    async def ended(self) -> str:
        """Returns when the server has ended by itself, with a sentence on it."""

    async def stop(self) -> None:
        """Ends the server."""


class SystemEndedError(Exception):
    """The server has ended by itself; the text is for the user."""


async def end_of_server(name: str, process: Process, broken: asyncio.Future[str]) -> str:
    """Waits until a server has ended or its client's connection is `broken`. Returns a sentence on it: that of the
    connection where the server runs on."""
    ending = asyncio.ensure_future(process.wait())
    await asyncio.wait((ending, broken), return_when=asyncio.FIRST_COMPLETED)
    with contextlib.suppress(TimeoutError):
        code = await asyncio.wait_for(ending, _ENDS_WITHIN)
        return f"{name} ended with exit code {code}" if code >= 0 else f"{name} got signal {-code}"
    return broken.result()


class Arrivals:
    """Payloads that come in threads of a client library, and are handled in the event loop."""

    def __init__(self, handle: Arrived) -> None:
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[bytes, Filter | None]] = deque()
        self._scheduled = False

    def put(self, payload: bytes, chosen: Filter | None = None) -> None:
        """Takes a payload, in any thread."""
        self._waiting.append((payload, chosen))
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._scheduled = False  # before the look, so that none which comes meanwhile is left waiting
        while self._waiting:
            self._handle(*self._waiting.popleft())
