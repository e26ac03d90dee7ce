"""One HTTP/2 connection: its socket, its frames, and the windows of its streams.

1. The library h2 keeps the state of the connection and its streams, and reads and writes all frames but two. Data and
   window updates, which are nearly all frames, are handled here, because h2 takes nine times as long for them. h2 gets
   data of streams that are not open, and the end of a stream without the data before it.
2. A stream sends no more than HTTP/2's windows and the socket's buffer have room for, and is notified of more room.
3. A connection whose other end breaks the rules of HTTP/2 is closed, and so is one whose other end does not read the
   answers that HTTP/2 demands (`_MOST_UNSENT`), or causes more work than it may (`allowance`).
4. What came in is handled in turns, between which the event loop serves others; the socket is not read meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import FrameTooLargeError, ProtocolError
from h2.settings import SettingCodes

from broker_service.service.turns import SLICE_TIME
from broker_service.transport.allowance import (
    DATA_COST,
    LEAST_MESSAGE,
    MESSAGES_A_UNIT,
    MOST_STREAMS,
    TURN,
    Allowance,
    cost_of,
)
from broker_service.transport.frames import (
    DATA,
    END_STREAM,
    HEADER_BYTES,
    INCREMENT_BYTES,
    LARGEST_WINDOW,
    PADDED,
    STREAM_BITS,
    WINDOW_UPDATE,
    end_of_data,
    pack_header,
    read_header,
    read_increment,
    unpadded,
    window_update,
)
from broker_service.transport.silence import SilenceWatch
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.stream import STREAM_WINDOW, RpcStream

_CONNECTION_WINDOW = 1 << 30
"""Bytes that may be in flight on all streams of a connection, so that one that is not read does not stop the others."""

_FIRST_WINDOW = (1 << 16) - 1
"""The window that every connection begins with (RFC 9113, section 6.9.2)."""

_LARGEST_FRAME = 1 << 18
"""Bytes; a frame is handled as a whole."""

_MOST_HEADER_BYTES = 1 << 13
"""Bytes of all headers of a request or a response, once they are decoded."""

_MOST_UNSENT = 1 << 22
"""Bytes that may wait in the socket's buffer; data stops far below, so most of them are answers to pings or resets."""

_RESET_CODES = {ErrorCodes.REFUSED_STREAM: StatusCode.UNAVAILABLE, ErrorCodes.CANCEL: StatusCode.CANCELLED}
"""Status of a call that ends with these errors of HTTP/2; it is INTERNAL with any other."""

_NO_LINGERING = struct.pack("ii", 1, 0)
"""The option by which the kernel resets a connection when its socket is closed."""
EventHandlers = Mapping[type[events.Event], Callable[[Any], None]]


class HeaderEncodingError(ProtocolError):
    """A header is not UTF-8."""


class WindowExceededError(ProtocolError):
    """The other end made a window larger than HTTP/2 permits."""


class Connection(asyncio.Protocol):
    """An HTTP/2 connection. Subclasses are the two ends."""

    stream_window = STREAM_WINDOW
    """Bytes that the other end may have in flight on a stream."""

    def __init__(self, configuration: H2Configuration, largest: int, most_streams: int, preface: int) -> None:
        """`largest` bounds incoming messages, in bytes, `most_streams` the streams that the other end may open, at most
        `MOST_STREAMS` of them.

        `preface` is the number of bytes that come before the first frame.
        """
        self.streams: dict[int, RpcStream] = {}
        """Open streams by HTTP/2's number."""
        self.peer = ""
        """The address of the other end, for logs."""
        self._http2 = H2Connection(configuration)
        self._largest = largest
        self._most_streams = min(most_streams, MOST_STREAMS)
        self._transport: asyncio.Transport | None = None
        self._paused = False
        """True while the socket's buffer is full."""
        self._left_alone = False
        """True while the user of the connection wants nothing to be read."""
        self._preface = preface
        """Bytes of the preface that have not come."""
        self._rest = b""
        """Bytes that came in and are not handled."""
        self._begin = 0
        """The place in them up to which they are handled."""
        self._next_turn: asyncio.Handle | None = None
        """Set while frames wait for their next turn."""
        self._allowance = Allowance()
        self._window = _FIRST_WINDOW
        """Bytes that may be sent on all streams."""
        self._blocked: dict[int, RpcStream] = {}
        """Streams that had no room for all they wanted to send, in the order in which they are tried again."""
        self._unreturned = 0
        """Bytes of data, of all streams, that came in since the last update of this end's window."""
        self._handlers: EventHandlers = {
            events.DataReceived: self._late_data_received,
            events.RemoteSettingsChanged: self._settings_changed,
            events.StreamEnded: self._stream_ended,
            events.StreamReset: self._stream_reset,
            events.ConnectionTerminated: self._terminated,
            **self._further_handlers(),
        }

    def _further_handlers(self) -> EventHandlers:
        """Handlers of the events that only one of the two ends gets."""
        raise NotImplementedError

    # Streams

    def send(self, stream: RpcStream, data: bytes) -> int:
        """Sends as much of the data on a stream as there is room for. Returns the number of bytes.

        Raises `RpcError` when the stream has ended.
        """
        transport = self._transport
        if stream.number not in self.streams or transport is None:
            raise stream.error or RpcError(StatusCode.UNAVAILABLE, "the other end has ended the call")
        size = 0 if self._paused else min(len(data), stream.window, self._window, self._http2.max_outbound_frame_size)
        if size <= 0:
            self._blocked[stream.number] = stream
            return 0
        stream.window -= size
        self._window -= size
        self._allowance.data += size
        header = pack_header(size >> 8, size & 0xFF, DATA, 0, stream.number)
        transport.write(header + (data if size == len(data) else data[:size]))
        return size

    def enlarge_window(self, stream: RpcStream, size: int) -> None:
        """Lets the other end send this many further bytes on a stream."""
        if stream.number in self.streams and self._transport is not None:
            self._transport.write(window_update(stream.number, size))

    def close(self) -> None:
        """Breaks all streams and closes the connection, after what was sent on it."""
        if self._transport is not None and not self._transport.is_closing():
            self._http2.close_connection()
            self._flush()
        self._end("this end closed the connection")

    def expect_signs_of_life(self, seconds: float) -> None:
        """Ends the connection once the other end has been silent for so long, unless it is a Unix socket."""
        if self._transport is not None:
            SilenceWatch(self._transport, seconds)

    def pause_reading(self) -> None:
        """Leaves whatever comes in to the kernel, until `resume_reading`."""
        self._left_alone = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Undoes `pause_reading`."""
        self._left_alone = False
        if self._transport is not None and self._next_turn is None and not self._transport.is_closing():
            self._transport.resume_reading()

    def reset(self) -> None:
        """Ends the connection by a reset. Nothing that waits is sent, and the other end is not told why."""
        transport = self._transport
        if transport is not None and (made := transport.get_extra_info("socket")) is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
            transport.abort()
        self._end("this end reset the connection")

    def _add(self, stream: RpcStream) -> None:
        stream.window = self._http2.remote_settings.initial_window_size
        self.streams[stream.number] = stream

    def _remove(self, number: int) -> RpcStream | None:
        """Forgets a stream, which has ended or is broken. Returns it; None when that was done before."""
        self._blocked.pop(number, None)
        return self.streams.pop(number, None)

    def _broken(self, stream: RpcStream, error: RpcError) -> None:
        """Called when a stream is broken."""
        stream.fail(error)

    def _end(self, reason: str) -> None:
        """Breaks all streams and closes the socket."""
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None
        self._rest, self._begin = b"", 0
        self._blocked.clear()
        streams, self.streams = self.streams, {}
        for stream in streams.values():
            self._broken(stream, RpcError(StatusCode.UNAVAILABLE, reason))
        if self._transport is not None:
            self._transport.close()

    def _flush(self) -> None:
        """Writes the frames of h2 that wait."""
        data = self._http2.data_to_send()
        transport = self._transport
        if data and transport is not None and not transport.is_closing():
            transport.write(data)
            if transport.get_write_buffer_size() > _MOST_UNSENT:
                transport.abort()

    # Callbacks of the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.peer = _address(transport.get_extra_info("peername"))
        http2 = self._http2
        http2.initiate_connection()
        http2.update_settings(
            {
                SettingCodes.INITIAL_WINDOW_SIZE: self.stream_window,
                SettingCodes.MAX_FRAME_SIZE: _LARGEST_FRAME,
                SettingCodes.MAX_CONCURRENT_STREAMS: self._most_streams,
                SettingCodes.MAX_HEADER_LIST_SIZE: _MOST_HEADER_BYTES,
            }
        )
        http2.increment_flow_control_window(_CONNECTION_WINDOW - _FIRST_WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._rest = self._rest[self._begin :] + data if self._rest else data
        self._begin = 0
        if self._next_turn is None:
            self._take_turn()

    def _take_turn(self) -> None:
        """Handles what came in, up to the end of a turn, after which the socket is read no more until the next one."""
        transport = self._transport
        waited, self._next_turn = self._next_turn is not None, None
        try:
            over = self._receive(self._rest)
        except ProtocolError as error:
            self._refused(error)
            return
        if over and transport is not None and not transport.is_closing():
            if not waited:
                transport.pause_reading()
            self._next_turn = asyncio.get_running_loop().call_soon(self._take_turn)
        elif waited and not self._left_alone and transport is not None and not transport.is_closing():
            transport.resume_reading()

    def _refused(self, error: ProtocolError) -> None:
        """Closes the connection, because its other end has done what it may not."""
        reason = f"the other end broke the rules of HTTP/2: {error}"
        if self._transport is not None and not self._transport.is_closing():
            self._http2.close_connection(error.error_code)
            self._flush()
        self._end(reason)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("the connection is lost")

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._make_room()

    # Frames

    def _receive(self, data: bytes) -> bool:
        """Handles complete frames, and returns whether a turn ended before all were. Raises `ProtocolError`."""
        begin, left, ends = self._begin, TURN, 0
        if self._preface:
            begin += self._receive_preface(data)
        while len(data) - begin >= HEADER_BYTES:
            if left <= 0:
                self._begin = begin
                return True
            high, low, kind, flags, number = read_header(data, begin)
            length, number = high << 8 | low, number & STREAM_BITS
            content = begin + HEADER_BYTES
            end = content + length
            if length > _LARGEST_FRAME:
                raise FrameTooLargeError(f"a frame of {length} bytes")
            if end > len(data):
                break
            if kind == DATA and (stream := self.streams.get(number)) is not None:
                frame = data[content:end]
                messages = self._receive_data(stream, unpadded(frame) if flags & PADDED else frame, length)
                left -= DATA_COST + messages // MESSAGES_A_UNIT
                if messages and end < len(data):
                    ends = ends or time.monotonic_ns() + SLICE_TIME
                    left = left if time.monotonic_ns() < ends else 0
                if flags & END_STREAM:
                    self._receive_odd(end_of_data(number))
            else:
                cost = cost_of(kind, length, len(self.streams))
                left -= cost
                self._allowance.spend(cost)
                if kind == WINDOW_UPDATE and length == INCREMENT_BYTES:
                    self._enlarge(number, read_increment(data, content))
                else:
                    self._receive_odd(data[begin:end])
            begin = end
        self._rest, self._begin = data[begin:], 0
        return False

    def _receive_preface(self, data: bytes) -> int:
        """Handles what has come of the preface; returns its length."""
        size = min(self._preface, len(data))
        self._preface -= size
        self._receive_odd(data[:size])
        return size

    def _receive_odd(self, data: bytes) -> None:
        """Has h2 handle a frame."""
        try:
            happened = self._http2.receive_data(data)
        except UnicodeDecodeError as error:
            raise HeaderEncodingError(f"a header is not UTF-8: {error}") from None
        for event in happened:
            handler = self._handlers.get(type(event))
            if handler is not None:
                handler(event)
        self._flush()

    def _receive_data(self, stream: RpcStream, data: bytes, size: int) -> int:
        """Handles data that occupies `size` bytes of the windows. Returns the number of messages that they complete."""
        allowance = self._allowance
        if size:
            allowance.data += size
        else:
            allowance.spend(DATA_COST)
        self._unreturned += size
        if self._unreturned > _CONNECTION_WINDOW // 2 and self._transport is not None:
            self._transport.write(window_update(0, self._unreturned))
            self._unreturned = 0
        if stream.error is not None:
            return 0
        try:
            messages = stream.receive(data, size)
        except RpcError as error:
            self._refuse(stream, error)
            return 0
        if (beyond := messages - size // LEAST_MESSAGE) > 0:
            allowance.spend(beyond)
        return messages

    def _refuse(self, stream: RpcStream, error: RpcError) -> None:
        """Ends a stream whose data cannot be read."""
        stream.fail(error)

    def _enlarge(self, number: int, increment: int) -> None:
        """Enlarges the window of a stream, or of the connection for number 0."""
        if not number:
            self._window += increment
            if self._window > LARGEST_WINDOW:
                raise WindowExceededError("the window of the connection")
            self._make_room()
        elif (stream := self.streams.get(number)) is not None:
            stream.window += increment
            if stream.window > LARGEST_WINDOW:
                raise WindowExceededError(f"the window of stream {number}")
            self._blocked.pop(number, None)
            stream.make_room()

    def _make_room(self) -> None:
        """Has streams send what there was no room for, each once and as long as there is room."""
        blocked = self._blocked
        for _ in range(len(blocked)):
            if self._paused or self._window <= 0 or not blocked:
                return
            blocked.pop(next(iter(blocked))).make_room()

    # Events of h2

    def _late_data_received(self, event: events.DataReceived) -> None:
        """Ignores data of a stream that this end has ended."""
        self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    def _settings_changed(self, event: events.RemoteSettingsChanged) -> None:
        changed = event.changed_settings.get(SettingCodes.INITIAL_WINDOW_SIZE)
        if changed is not None:
            for stream in self.streams.values():
                stream.window += changed.new_value - (changed.original_value or 0)
        self._make_room()

    def _stream_ended(self, event: events.StreamEnded) -> None:
        stream = self.streams.get(event.stream_id)
        if stream is not None:
            stream.end()

    def _stream_reset(self, event: events.StreamReset) -> None:
        stream = self._remove(event.stream_id)
        if stream is not None:
            code = _RESET_CODES.get(cast(ErrorCodes, event.error_code), StatusCode.INTERNAL)
            self._broken(stream, RpcError(code, f"the other end reset the stream ({event.error_code!r})"))

    def _terminated(self, event: events.ConnectionTerminated) -> None:
        why = "" if event.error_code == ErrorCodes.NO_ERROR else f" ({event.error_code!r})"
        self._end(f"the other end closed the connection{why}")


def header_fields(headers: Sequence[tuple[Any, Any]]) -> Mapping[str, str]:
    """Headers of a request, a response or trailers by name."""
    return dict(headers)


UNIX_PEER = "a Unix socket"
"""The address of a peer on this host, for logs."""


def _address(peer: object) -> str:
    """A peer's address for logs; Unix sockets have none."""
    return f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else UNIX_PEER
