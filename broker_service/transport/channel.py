"""The end of a stream that opens it: each stream has a connection of its own, so that nothing else delays it."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any

from h2 import events
from h2.config import H2Configuration
from h2.errors import ErrorCodes

from broker_service.transport.connection import Connection, header_fields
from broker_service.transport.methods import IDENTITY, UNIX, Method
from broker_service.transport.silent_end import fall_silent
from broker_service.transport.socket_files import SocketFile
from broker_service.transport.status import RpcError, StatusCode, status_error
from broker_service.transport.stream import STREAM_WINDOW, RpcStream

_NO_LINGERING = struct.pack("ii", 1, 0)
"""The option by which the kernel resets a connection when its socket is closed."""


class Call(RpcStream):
    """A stream that this end has opened."""

    def __init__(self, connection: ClientConnection, number: int, largest: int, peer: str, window: int) -> None:
        super().__init__(connection.outgoing, number, largest, peer, window)
        self._connection = connection

    def done_writing(self) -> None:
        """Closes this end's side of the stream; the other end may still send."""
        self._connection.end(self)

    def close(self) -> None:
        """Breaks the stream, unless it has ended, and closes its connection."""
        self._connection.cancel(self)
        self._connection.close()

    def expect_signs_of_life(self, seconds: float) -> None:
        """Breaks the stream once the other end has been silent for so long."""
        self._connection.expect_signs_of_life(seconds)

    def pause_reading(self) -> None:
        """Takes nothing from the connection until `resume_reading`."""
        self._connection.pause_reading()

    def resume_reading(self) -> None:
        self._connection.resume_reading()

    def reset(self) -> None:
        """Resets the connection, as the kernel does for a process that has crashed."""
        self._connection.reset()

    def fall_silent(self, make_socket: Callable[[], socket.socket]) -> socket.socket | None:
        """Gives the connection up without a word, as a host does that has lost its network. Returns the socket that
        ignores what still comes, until it is closed."""
        return self._connection.fall_silent(make_socket)


class ClientConnection(Connection):
    """A connection with one stream, which this end has opened."""

    def __init__(self, largest: int, stream_window: int = STREAM_WINDOW) -> None:
        super().__init__(H2Configuration(client_side=True, header_encoding="utf-8"), largest, most_streams=0, preface=0)
        self.stream_window = stream_window

    def open(self, path: str, authority: str) -> Call:
        """Opens the stream of a method."""
        number = self._http2.get_next_available_stream_id()
        call = Call(self, number, self._largest, authority, self.stream_window)
        self._add(call)
        self._http2.send_headers(
            number,
            [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", path),
                (":authority", authority),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
            ],
        )
        self._flush()
        return call

    def end(self, stream: RpcStream) -> None:
        """Closes this end's side of a stream."""
        if stream.number in self.streams:
            self._http2.end_stream(stream.number)
            self._flush()

    def cancel(self, stream: RpcStream) -> None:
        """Breaks a stream, unless it has ended."""
        if self._remove(stream.number) is not None:
            self._http2.reset_stream(stream.number, ErrorCodes.CANCEL)
            self._flush()
            stream.fail(RpcError(StatusCode.CANCELLED, "this end cancelled the call"))

    def reset(self) -> None:
        """Ends the connection by a reset. Nothing that waits is sent, and the other end is not told why."""
        transport = self._transport
        if transport is not None and (made := transport.get_extra_info("socket")) is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
            transport.abort()
        self._end("this end reset the connection")

    def fall_silent(self, make_socket: Callable[[], socket.socket]) -> socket.socket | None:
        """Gives the connection up without a word; see `silent_end`."""
        deaf = None if self._transport is None else fall_silent(self._transport, make_socket)
        self._end("this end has lost its network")
        return deaf

    def _further_handlers(self) -> Mapping[type[events.Event], Callable[[Any], None]]:
        return {events.ResponseReceived: self._response_received, events.TrailersReceived: self._trailers_received}

    def _response_received(self, event: events.ResponseReceived) -> None:
        stream = self.streams.get(event.stream_id)
        if stream is None:
            return
        headers = header_fields(event.headers)
        encoding = headers.get("grpc-encoding", IDENTITY)
        if "grpc-status" in headers or headers.get(":status") != "200":
            _take_status(stream, headers)
        elif encoding != IDENTITY:
            self._refuse(stream, RpcError(StatusCode.UNIMPLEMENTED, f"compression {encoding!r} is disabled"))

    def _trailers_received(self, event: events.TrailersReceived) -> None:
        stream = self.streams.get(event.stream_id)
        if stream is not None:
            _take_status(stream, header_fields(event.headers))

    def _refuse(self, stream: RpcStream, error: RpcError) -> None:
        stream.fail(error)
        self.cancel(stream)

    def _stream_ended(self, event: events.StreamEnded) -> None:
        stream = self._remove(event.stream_id)
        if stream is not None:
            stream.end()


async def dial(
    address: str,
    method: Method,
    largest: int,
    make_socket: Callable[[], socket.socket] | None = None,
    window: int = STREAM_WINDOW,
) -> Call:
    """Opens a stream to an address; `largest` bounds incoming messages, `window` the bytes that may come before they
    are read, and `make_socket` makes the socket for a numeric `host:port`. Raises `RpcError` if nothing listens, or if
    a link is in place of a Unix socket."""
    loop = asyncio.get_running_loop()
    connection = ClientConnection(largest, window)
    try:
        if address.startswith(UNIX):
            with SocketFile(address.removeprefix(UNIX)) as file:
                await loop.create_unix_connection(lambda: connection, file.address)
            authority = "localhost"
        elif make_socket is not None:
            await _connect(connection, address, make_socket())
            authority = address
        else:
            host, _, port = address.rpartition(":")
            await loop.create_connection(lambda: connection, host.strip("[]"), int(port))
            authority = address
    except OSError as error:
        raise RpcError(StatusCode.UNAVAILABLE, f"cannot connect: {error.strerror or error}") from None
    return connection.open(method.path, authority)


async def _connect(connection: ClientConnection, address: str, made: socket.socket) -> None:
    """Connects by a socket that was made for the purpose. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    host, _, port = address.rpartition(":")
    try:
        made.setblocking(False)
        await loop.sock_connect(made, (host, int(port)))
        await loop.create_connection(lambda: connection, sock=made)
    except BaseException:
        made.close()
        raise


def _take_status(stream: RpcStream, trailers: Mapping[str, str]) -> None:
    """Ends a stream, or breaks it when its status is not OK."""
    error = status_error(trailers)
    if error is None:
        stream.end()
    else:
        stream.fail(error)
