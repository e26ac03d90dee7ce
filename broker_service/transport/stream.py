"""One end of a gRPC stream: messages are read in order, and written as far as the other end has room for them."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Callable
from typing import Protocol

from broker_service.transport.length_prefix import PREFIX_BYTES, MessageSplitter, pack_prefix, read_prefix
from broker_service.transport.status import RpcError, StatusCode
from record.callbacks import do_nothing

STREAM_WINDOW = 1 << 20
"""Bytes that may be in flight on a stream before its reader takes them."""

FIRST_WINDOW = 65_535
"""Bytes that may be in flight before either end has said otherwise, by HTTP/2."""

_ENLARGED_AFTER = 4
"""Part of the window, as its divisor, that is read before the other end's window is enlarged, because a frame for each
message would be wasted."""


class Stream(Protocol):
    """A stream of messages in both directions, as its users see it."""

    error: Exception | None
    """Set when the stream cannot be used any more."""
    ended: bool
    """True when the other end will send nothing more."""
    on_arrival: Callable[[], None]
    """Called when a message, the end or an error has come."""
    on_room: Callable[[], None]
    """Called when further messages may be sent, after `send` has returned False."""
    peer: str
    """The other end's address, for logs."""
    reads_on: bool
    """Set by a user that has not read all messages yet, and will without being called."""

    waiting: deque[bytes]
    """Messages that have come. A user takes them from the left; one that does so outside of `on_arrival` calls
    `note_taken` then."""

    def note_taken(self) -> None:
        """Lets the other end send more if no message waits any longer."""

    def send(self, message: bytes, /) -> bool:
        """Sends a message; a part that there is no room for follows later, and none may be sent before `on_room`.

        Returns whether the next message may be sent now.
        """


class Carrier(Protocol):
    """The connection of a stream."""

    def send(self, stream: RpcStream, data: bytes) -> int:
        """Sends as much of the data on a stream as there is room for. Returns the number of bytes."""

    def enlarge_window(self, stream: RpcStream, size: int) -> None:
        """Lets the other end send this many further bytes on a stream."""


class RpcStream:
    """One end of a gRPC stream. At most one task reads, or one user takes, and at most one task writes, or one user
    sends.

    The window of the other end is enlarged when no message waits here. So it sends no more than one window beyond the
    messages that were read, and a message larger than the window is taken nevertheless.
    """

    def __init__(
        self, carrier: Carrier, number: int, largest: int, peer: str, most_in_flight: int = STREAM_WINDOW
    ) -> None:
        """`number` is HTTP/2's. `largest` is the length, in bytes, that no incoming message may exceed;
        `most_in_flight` are the bytes that may come before they are read."""
        self.number = number
        self.peer = peer
        """The address of the other end, for logs."""
        self.window = 0
        """Bytes that may be sent; negative when the other end has made it smaller."""
        self.error: Exception | None = None
        """Set, to an `RpcError`, when the stream cannot be used any more."""
        self.on_arrival: Callable[[], None] = do_nothing
        """Called when a message, the end or an error has come."""
        self._carrier = carrier
        self._most_in_flight = most_in_flight
        self._enlarged_after = most_in_flight // _ENLARGED_AFTER
        self._splitter = MessageSplitter(largest)
        self._largest = largest
        self.waiting: deque[bytes] = deque()
        """Messages that have come and were not taken."""
        self._consumed = 0
        """Bytes that came in since the other end's window was enlarged last."""
        self.ended = False
        """True when the other end will send nothing more."""
        self.reads_on = False
        """Set by a user that has not read all messages yet, and will without being called."""
        self.on_room: Callable[[], None] = do_nothing
        """Called when further messages may be sent, after `send` has returned False."""
        self.begin_response: Callable[[], None] | None = None
        """Sends what has to come before the first message; None when nothing has, or it was sent."""
        self._unsent = b""
        """The part of the latest message that there was no room for."""

    async def read(self) -> bytes | None:
        """The next message; None once the other end has closed the stream. Raises `RpcError` when it is broken."""
        while not self.waiting:
            if self.error is not None:
                raise self.error
            if self.ended:
                return None
            progress = asyncio.get_running_loop().create_future()
            self.on_arrival = functools.partial(_resolve, progress)
            await progress
        message = self.waiting.popleft()
        self.note_taken()
        return message

    def note_taken(self) -> None:
        """Lets the other end send more if no message waits any longer."""
        if not self.waiting and self._consumed >= self._enlarged_after:
            self._enlarge_window()

    async def write(self, message: bytes) -> None:
        """Sends a message, and returns once all of it is sent. Raises `RpcError` when the stream is broken."""
        if not self.send(message):
            room = asyncio.get_running_loop().create_future()
            self.on_room = functools.partial(_resolve, room)
            await room
            if self.error is not None:
                raise self.error

    def send(self, message: bytes) -> bool:
        """Sends a message; a part that there is no room for follows later, and none may be sent before `on_room`.

        Returns whether the next message may be sent now. Raises `RpcError` when the stream is broken.
        """
        if self.begin_response is not None:
            self.begin_response()
        data = pack_prefix(0, len(message)) + message
        sent = self._carrier.send(self, data)
        return sent == len(data) or self._send(data[sent:])

    # Called by the connection

    def receive(self, data: bytes, size: int) -> int:
        """Takes bytes that came in and occupy `size` bytes of the window. Returns the number of messages that they
        complete.

        Raises `RpcError` as the splitter, and when they exceed the window.
        """
        self._consumed += size
        if self._consumed > self._most_in_flight:
            raise RpcError(StatusCode.INTERNAL, "more data than the window has room for")
        content, waiting, splitter = len(data) - PREFIX_BYTES, self.waiting, self._splitter
        if 0 <= content <= self._largest and not splitter.rest and read_prefix(data) == (0, content):
            waiting.append(data[PREFIX_BYTES:])  # a message that came in one piece, as nearly all do
            completed = 1
        else:
            messages = splitter.split(data)
            waiting += messages
            completed = len(messages)
        if waiting:
            self.on_arrival()
        if not waiting and self._consumed >= self._enlarged_after:
            self._enlarge_window()
        return completed

    def end(self) -> None:
        """Notes that the other end has closed its side."""
        self.ended = True
        self.on_arrival()

    def fail(self, error: RpcError) -> None:
        """Notes that the stream is broken. Messages that came in before can still be read."""
        if self.error is None:
            self.error = error
        self.on_arrival()
        self.on_room()

    def make_room(self) -> None:
        """Sends what there was no room for, because there may be room now."""
        if self._unsent and self._send(self._unsent):
            self.on_room()

    def _send(self, data: bytes) -> bool:
        """Sends data as far as there is room, and keeps the rest. Returns whether all of it is sent."""
        while (sent := self._carrier.send(self, data)) < len(data):
            data = data[sent:]
            if not sent:
                self._unsent = data
                return False
        self._unsent = b""
        return True

    def _enlarge_window(self) -> None:
        size, self._consumed = self._consumed, 0
        self._carrier.enlarge_window(self, size)


def _resolve(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
