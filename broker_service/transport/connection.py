"""One HTTP/2 connection: its socket, its frames, and the windows of its streams.

1. The library h2 keeps the state of the connection and its streams, and reads and writes all frames but two. Data and
   window updates, which are nearly all frames, are handled by `stream`, because h2 takes nine
   times as long for them. h2 gets data of streams that are not open, and the end of a stream without the data before.
2. A stream sends no more than HTTP/2's windows and the socket's buffer have room for, and is notified of more room
   (`outgoing`).
3. A connection whose other end breaks the rules of HTTP/2 is closed, and so is one whose other end does not read the
   answers that HTTP/2 demands (`_MOST_UNSENT`), or causes more work than it may (`allowance`).
4. What came in is handled in turns (`stream`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from broker_service.transport.allowance import MOST_STREAMS, Allowance
from broker_service.transport.outgoing import FIRST_WINDOW, Outgoing
from broker_service.transport.silence import SilenceWatch
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.stream import CONNECTION_WINDOW, LARGEST_FRAME, STREAM_WINDOW, FrameReader, RpcStream

_MOST_HEADER_BYTES = 1 << 13
"""Bytes of all headers of a request or a response, once they are decoded."""

_MOST_UNSENT = 1 << 22
"""Bytes that may wait in the socket's buffer; data stops far below, so most of them are answers to pings or resets."""

_RESET_CODES = {ErrorCodes.REFUSED_STREAM: StatusCode.UNAVAILABLE, ErrorCodes.CANCEL: StatusCode.CANCELLED}
"""Status of a call that ends with these errors of HTTP/2; it is INTERNAL with any other."""

EventHandlers = Mapping[type[events.Event], Callable[[Any], None]]


class HeaderEncodingError(ProtocolError):
    """A header is not UTF-8."""


class Connection(FrameReader):
    """An HTTP/2 connection. Subclasses are the two ends."""

    stream_window = STREAM_WINDOW
    """Bytes that the other end may have in flight on a stream."""

    def __init__(self, configuration: H2Configuration, largest: int, most_streams: int, preface: int) -> None:
        """`largest` bounds incoming messages, in bytes, `most_streams` the streams that the other end may open, at most
        `MOST_STREAMS` of them.

        `preface` is the number of bytes that come before the first frame.
        """
        self._http2 = http2 = H2Connection(configuration)
        streams: dict[int, RpcStream] = {}
        outgoing = Outgoing(http2, streams, Allowance())
        super().__init__(preface, outgoing, streams)
        self.peer = ""
        """The address of the other end, for logs."""
        self._largest = largest
        self._most_streams = min(most_streams, MOST_STREAMS)
        self._handlers: EventHandlers = {
            events.DataReceived: lambda late: http2.acknowledge_received_data(
                late.flow_controlled_length, late.stream_id
            ),
            events.RemoteSettingsChanged: outgoing.settings_changed,
            events.StreamEnded: self._stream_ended,
            events.StreamReset: self._stream_reset,
            events.ConnectionTerminated: self._terminated,
            **self._further_handlers(),
        }

    def _further_handlers(self) -> EventHandlers:
        """Handlers of the events that only one of the two ends gets."""
        raise NotImplementedError

    # Streams

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

    def _add(self, stream: RpcStream) -> None:
        stream.window = self._http2.remote_settings.initial_window_size
        self.streams[stream.number] = stream

    def _remove(self, number: int) -> RpcStream | None:
        """Forgets a stream, which has ended or is broken. Returns it; None when that was done before."""
        self.outgoing.blocked.pop(number, None)
        return self.streams.pop(number, None)

    def _broken(self, stream: RpcStream, error: RpcError) -> None:
        """Called when a stream is broken."""
        stream.fail(error)

    def _end(self, reason: str) -> None:
        """Breaks all streams and closes the socket."""
        self._stop_reading()
        self.outgoing.blocked.clear()
        streams = list(self.streams.values())
        self.streams.clear()
        for stream in streams:
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
        self._transport = self.outgoing.transport = cast(asyncio.Transport, transport)
        self.peer = _address(transport.get_extra_info("peername"))
        http2 = self._http2
        http2.initiate_connection()
        http2.update_settings(
            {
                SettingCodes.INITIAL_WINDOW_SIZE: self.stream_window,
                SettingCodes.MAX_FRAME_SIZE: LARGEST_FRAME,
                SettingCodes.MAX_CONCURRENT_STREAMS: self._most_streams,
                SettingCodes.MAX_HEADER_LIST_SIZE: _MOST_HEADER_BYTES,
            }
        )
        http2.increment_flow_control_window(CONNECTION_WINDOW - FIRST_WINDOW)
        self._flush()

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
        self.outgoing.paused = True

    def resume_writing(self) -> None:
        self.outgoing.paused = False
        self.outgoing.make_room()

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

    def _refuse(self, stream: RpcStream, error: RpcError) -> None:
        """Ends a stream whose data cannot be read."""
        stream.fail(error)

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
