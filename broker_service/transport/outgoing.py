"""The data that leaves a connection, within HTTP/2's windows and the room of the socket's buffer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from h2 import events
from h2.connection import H2Connection
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from broker_service.transport.allowance import Allowance
from broker_service.transport.frames import DATA, LARGEST_WINDOW, pack_header, window_update
from broker_service.transport.status import RpcError, StatusCode

FIRST_WINDOW = (1 << 16) - 1
"""Bytes that may be in flight, on a stream or a connection, before either end has said otherwise (RFC 9113, section
6.9.2)."""


class Sender(Protocol):
    """The sending half of a stream."""

    number: int
    """HTTP/2's number of the stream."""
    window: int
    """Bytes that may be sent; negative when the other end has made it smaller."""
    error: Exception | None
    """Set when the stream cannot be used any more."""

    def make_room(self) -> None:
        """Sends what there was no room for, because there may be room now."""


class WindowExceededError(ProtocolError):
    """The other end made a window larger than HTTP/2 permits."""


class Outgoing:
    """The data that leaves one connection, on all of its streams."""

    def __init__(self, http2: H2Connection, streams: Mapping[int, Sender], allowance: Allowance) -> None:
        """`streams` are the open ones, by HTTP/2's number; `allowance` grows with the data."""
        self.transport: asyncio.Transport | None = None
        """The socket, once the connection is made."""
        self.paused = False
        """True while the socket's buffer is full."""
        self.blocked: dict[int, Sender] = {}
        """Streams that had no room for all they wanted to send, in the order in which they are tried again."""
        self.streams = streams
        self.allowance = allowance
        self.http2 = http2
        self.window = FIRST_WINDOW
        """Bytes that may be sent on all streams."""

    def send(self, stream: Sender, data: bytes) -> int:
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

    def enlarge_window(self, stream: Sender, size: int) -> None:
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
