"""One end of a gRPC stream: messages are read in order, and written as far as the other end has room for them.

The data of a connection's streams leave it by one `Outgoing`, within HTTP/2's windows and the room of the socket's
buffer.
"""

from __future__ import annotations

import asyncio
import functools
import struct
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from h2 import events
from h2.connection import H2Connection
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from broker_service.transport.allowance import Allowance
from broker_service.transport.frames import DATA, LARGEST_WINDOW, pack_header, window_update
from broker_service.transport.length_prefix import PREFIX_BYTES, MessageSplitter, pack_prefix, read_prefix
from broker_service.transport.status import RpcError, StatusCode
from record.callbacks import do_nothing

STREAM_WINDOW = 1 << 20
"""Bytes that may be in flight on a stream before its reader takes them."""

FIRST_WINDOW = (1 << 16) - 1
"""Bytes that may be in flight, on a stream or a connection, before either end has said otherwise (RFC 9113, section
6.9.2)."""

_pack_headers: Final = struct.Struct(">HBBBLBI").pack
"""Makes the header of a frame (`pack_header`) and the prefix of the message that is all of its data (`pack_prefix`)."""

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


class RpcStream:
    """One end of a gRPC stream. At most one task reads, or one user takes, and at most one task writes, or one user
    sends.

    The window of the other end is enlarged when no message waits here. So it sends no more than one window beyond the
    messages that were read, and a message larger than the window is taken nevertheless.
    """

    def __init__(
        self, outgoing: Outgoing, number: int, largest: int, peer: str, most_in_flight: int = STREAM_WINDOW
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
        self._outgoing = outgoing
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
        outgoing, number, length = self._outgoing, self.number, len(message)
        size, transport = PREFIX_BYTES + length, outgoing.transport
        if (
            transport is None
            or outgoing.paused
            or size > self.window
            or size > outgoing.window
            or size > outgoing.http2.max_outbound_frame_size
            or number not in outgoing.streams
        ):
            return self._send(pack_prefix(0, length) + message)
        self.window -= size  # the message is one frame, as nearly all are
        outgoing.window -= size
        outgoing.allowance.data += size
        transport.write(_pack_headers(size >> 8, size & 0xFF, DATA, 0, number, 0, length) + message)
        return True

    # Called by the connection

    def receive(self, data: bytes, size: int) -> int:
        """Takes bytes that came in and occupy `size` bytes of the window; a broken stream ignores them. Returns the
        number of messages that they complete.

        Raises `RpcError` as the splitter, and when they exceed the window.
        """
        if self.error is not None:
            return 0
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
        while (sent := self._outgoing.send(self, data)) < len(data):
            data = data[sent:]
            if not sent:
                self._unsent = data
                return False
        self._unsent = b""
        return True

    def _enlarge_window(self) -> None:
        size, self._consumed = self._consumed, 0
        self._outgoing.enlarge_window(self, size)


class WindowExceededError(ProtocolError):
    """The other end made a window larger than HTTP/2 permits."""


class Outgoing:
    """The data that leaves one connection, on all of its streams."""

    def __init__(self, http2: H2Connection, streams: dict[int, RpcStream], allowance: Allowance) -> None:
        """`streams` are the open ones, by HTTP/2's number; `allowance` grows with the data."""
        self.transport: asyncio.Transport | None = None
        """The socket, once the connection is made."""
        self.paused = False
        """True while the socket's buffer is full."""
        self.blocked: dict[int, RpcStream] = {}
        """Streams that had no room for all they wanted to send, in the order in which they are tried again."""
        self.streams = streams
        self.allowance = allowance
        self.http2 = http2
        self.window = FIRST_WINDOW
        """Bytes that may be sent on all streams."""

    def send(self, stream: RpcStream, data: bytes) -> int:
        """Sends as much of the data on a stream as there is room for. Returns the number of bytes.

        Raises `RpcError` when the stream has ended.
        """
        transport = self.transport
        if stream.number not in self.streams or transport is None:
            raise stream.error or RpcError(StatusCode.UNAVAILABLE, "the other end has ended the call")
        size = 0 if self.paused else min(len(data), stream.window, self.window, self.http2.max_outbound_frame_size)
        if size <= 0:
            self.blocked[stream.number] = stream
            return 0
        stream.window -= size
        self.window -= size
        self.allowance.data += size
        header = pack_header(size >> 8, size & 0xFF, DATA, 0, stream.number)
        transport.write(header + (data if size == len(data) else data[:size]))
        return size

    def enlarge_window(self, stream: RpcStream, size: int) -> None:
        """Lets the other end send this many further bytes on a stream."""
        if stream.number in self.streams and self.transport is not None:
            self.transport.write(window_update(stream.number, size))

    def enlarge(self, number: int, increment: int) -> None:
        """The other end enlarges the window of a stream, or of the connection for number 0."""
        if not number:
            self.window += increment
            if self.window > LARGEST_WINDOW:
                raise WindowExceededError("the window of the connection")
            self.make_room()
        elif (stream := self.streams.get(number)) is not None:
            stream.window += increment
            if stream.window > LARGEST_WINDOW:
                raise WindowExceededError(f"the window of stream {number}")
            self.blocked.pop(number, None)
            stream.make_room()

    def settings_changed(self, event: events.RemoteSettingsChanged) -> None:
        """The other end changes the window that streams begin with, and that of all open ones by as much."""
        changed = event.changed_settings.get(SettingCodes.INITIAL_WINDOW_SIZE)
        if changed is not None:
            for stream in self.streams.values():
                stream.window += changed.new_value - (changed.original_value or 0)
        self.make_room()

    def make_room(self) -> None:
        """Has streams send what there was no room for, each once and as long as there is room."""
        blocked = self.blocked
        for _ in range(len(blocked)):
            if self.paused or self.window <= 0 or not blocked:
                return
            blocked.pop(next(iter(blocked))).make_room()


def _resolve(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
