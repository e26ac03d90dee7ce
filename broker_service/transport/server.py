"""The end of streams that the other end opens: it listens, and runs a handler for each stream."""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message
from h2 import events
from h2.config import H2Configuration
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from broker_service.transport.connection import Connection, header_fields
from broker_service.transport.frames import PREFACE_BYTES
from broker_service.transport.methods import IDENTITY, Method
from broker_service.transport.status import RpcError, StatusCode, status_trailers
from broker_service.transport.stream import RpcStream

_RESPONSE = ((":status", "200"), ("content-type", "application/grpc"), ("grpc-accept-encoding", IDENTITY))

MOST_IDLE = 64
"""Connections that may be open besides those whose streams are served."""
_REFUSED_STREAMS = 100
"""Streams of a connection beyond those that are served: they are refused with a reason. Callers wait to open more."""

_log = logging.getLogger(__name__)

Request = TypeVar("Request", bound=Message)


class ServedStream(RpcStream):
    """A stream that the other end has opened."""

    def __init__(self, connection: ServerConnection, number: int, largest: int, peer: str) -> None:
        super().__init__(connection.outgoing, number, largest, peer)
        self.begin_response = functools.partial(connection.answer, self)
        self._connection = connection

    def expect_signs_of_life(self, seconds: float) -> None:
        """Breaks the stream once the other end has been silent for so long."""
        self._connection.expect_signs_of_life(seconds)


Handler = Callable[[ServedStream], Coroutine[Any, Any, None]]
"""Serves a stream. When it returns, the stream ends with OK; when it raises `RpcError`, with that status."""


def unary(request: type[Request], method: Callable[[Request], Awaitable[Message]]) -> Handler:
    """A handler that answers a request of this type with what the method returns; what it raises ends the call."""

    async def serve(stream: ServedStream) -> None:
        data = await stream.read()
        if data is None:
            raise RpcError(StatusCode.INVALID_ARGUMENT, "the call ended without a request")
        try:
            wanted = request.FromString(data)
        except DecodeError:
            raise RpcError(StatusCode.INVALID_ARGUMENT, f"not a {request.DESCRIPTOR.name}") from None
        await stream.write((await method(wanted)).SerializeToString())

    return serve


class ServerLimits(NamedTuple):
    largest: int
    """Length of the largest message that is taken, in bytes; a stream with a larger one ends (RESOURCE_EXHAUSTED)."""
    streams: int
    """Streams at a time, of all connections; further ones are refused (RESOURCE_EXHAUSTED)."""


class RpcServer:
    """Serves the streams of all connections to its sockets. It must be made and used within a running event loop."""

    def __init__(
        self, handlers: Mapping[Method, Handler], limits: ServerLimits, report_refused: Callable[[str, str], None]
    ) -> None:
        """`report_refused` is called with the name of a connection that is refused, and the reason."""
        self.limits = limits
        self.report_refused = report_refused
        self._handlers = {method.path: handler for method, handler in handlers.items()}
        self._listeners: list[asyncio.Server] = []
        self._paths: list[Path] = []
        """Paths of the Unix sockets, which have to be removed because they outlast the process."""
        self._connections: dict[ServerConnection, None] = {}
        """Open connections, in the order in which they were opened."""
        self._tasks: dict[ServedStream, asyncio.Task[None]] = {}
        self._stopping = False

    async def listen(self, listening: socket.socket) -> None:
        """Accepts connections of a socket that is bound."""
        loop = asyncio.get_running_loop()
        create = loop.create_unix_server if listening.family == socket.AF_UNIX else loop.create_server
        if listening.family == socket.AF_UNIX:
            self._paths.append(Path(listening.getsockname()))
        self._listeners.append(await create(self._connected, sock=listening))

    async def stop(self, within: float = 0.0) -> None:
        """Takes no further streams, gives those that are open some seconds to end, then breaks them."""
        self._stopping = True
        for listener in self._listeners:
            listener.close()
        for path in self._paths:
            path.unlink(missing_ok=True)
        self._paths.clear()
        if self._tasks and within:
            await asyncio.wait(self._tasks.values(), timeout=within)
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        for connection in list(self._connections):
            connection.close()

    def refusal(self, headers: Mapping[str, str]) -> RpcError | None:
        """The reason why a stream with these headers is not served; None when it is."""
        encoding = headers.get("grpc-encoding", IDENTITY)
        if headers.get(":path") not in self._handlers:
            return RpcError(StatusCode.UNIMPLEMENTED, f"no method {headers.get(':path')}")
        if encoding != IDENTITY:
            return RpcError(StatusCode.UNIMPLEMENTED, f"compression {encoding!r} is disabled")
        if self._stopping:
            return RpcError(StatusCode.UNAVAILABLE, "the server stops")
        if len(self._tasks) >= self.limits.streams:
            return RpcError(StatusCode.RESOURCE_EXHAUSTED, f"{len(self._tasks)} calls are open already")
        return None

    def begin(self, connection: ServerConnection, stream: ServedStream, path: str) -> None:
        """Has a stream served."""
        task = self._tasks[stream] = asyncio.create_task(self._handlers[path](stream))
        task.add_done_callback(functools.partial(self._ended, connection, stream))

    def break_off(self, stream: ServedStream) -> None:
        """Cancels what serves a stream, because the other end has broken it."""
        task = self._tasks.get(stream)
        if task is not None:
            task.cancel()

    def forget(self, connection: ServerConnection) -> None:
        """Notes that a connection is closed."""
        self._connections.pop(connection, None)

    def _connected(self) -> ServerConnection:
        if len(self._connections) >= self.limits.streams + MOST_IDLE:
            self._close_idle()
        connection = ServerConnection(self)
        self._connections[connection] = None
        return connection

    def _close_idle(self) -> None:
        """Closes the oldest connection without streams, because those are kept for nothing."""
        idle = next((connection for connection in self._connections if not connection.streams), None)
        if idle is not None:
            self.report_refused(f"connection of {idle.peer}", f"{len(self._connections)} connections are open already")
            del self._connections[idle]
            idle.close()

    def _ended(self, connection: ServerConnection, stream: ServedStream, task: asyncio.Task[None]) -> None:
        del self._tasks[stream]
        connection.finish(stream, _status(task, stream.peer))


def _status(served: asyncio.Task[None], peer: str) -> RpcError:
    """The status with which a stream ends; a failure of the handler is logged."""
    if served.cancelled():
        return RpcError(StatusCode.CANCELLED, "the server stops")
    error = served.exception()
    if error is None:
        return RpcError(StatusCode.OK, "")
    if isinstance(error, RpcError):
        return error
    _log.error("a call of %s failed", peer, exc_info=error)
    return RpcError(StatusCode.INTERNAL, "internal error")


class ServerConnection(Connection):
    """A connection that the other end has opened."""

    def __init__(self, server: RpcServer) -> None:
        configuration = H2Configuration(client_side=False, header_encoding="utf-8")
        super().__init__(configuration, server.limits.largest, server.limits.streams + _REFUSED_STREAMS, PREFACE_BYTES)
        self._server = server

    def answer(self, stream: ServedStream) -> None:
        """Sends the response's headers, which come before the first message."""
        stream.begin_response = None
        if stream.number in self.streams:
            self._http2.send_headers(stream.number, _RESPONSE)
            self._flush()

    def finish(self, stream: ServedStream, status: RpcError) -> None:
        """Ends a stream with a status, unless the other end has broken it."""
        if self._remove(stream.number) is None:
            return
        response = () if stream.begin_response is None else _RESPONSE
        trailers = (*response, *status_trailers(status.code, status.details))
        self._http2.send_headers(stream.number, trailers, end_stream=True)
        if not stream.ended:
            self._http2.reset_stream(stream.number, ErrorCodes.NO_ERROR)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._server.forget(self)

    def _further_handlers(self) -> Mapping[type[events.Event], Callable[[Any], None]]:
        return {events.RequestReceived: self._request_received}

    def _request_received(self, event: events.RequestReceived) -> None:
        headers = header_fields(event.headers)
        stream = ServedStream(self, event.stream_id, self._largest, self.peer)
        stream.ended = event.stream_ended is not None
        self._add(stream)
        refusal = self._server.refusal(headers)
        if refusal is None:
            self._server.begin(self, stream, headers[":path"])
        else:
            self.finish(stream, refusal)

    def _broken(self, stream: RpcStream, error: RpcError) -> None:
        super()._broken(stream, error)
        if isinstance(stream, ServedStream) and not stream.reads_on:
            self._server.break_off(stream)

    def _refused(self, error: ProtocolError) -> None:
        self._server.report_refused(f"connection of {self.peer}", str(error))
        super()._refused(error)
