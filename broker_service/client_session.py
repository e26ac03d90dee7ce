"""A client's side of a session, without waiting: operations are handed over at once, events come by callback.

Many logical clients share one session. It remembers what each of them has advertised and subscribed to; when its stream
breaks it is opened again with back-off and says all of that again, for a broker forgets clients whose session is gone.
Operations that were not answered yet are answered then. Publications travel at most once: those that were on the wire
when the stream broke may be lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import grpc

from broker_service import rpc
from broker_service.duplex import Duplex, StreamClosedError
from broker_service.messages import ClientEvent, ClientId, ClientRequest, Operation, Outcome
from broker_service.wire import MalformedFrameError, decode_broker_frame, encode_client_frames

_LARGEST_BROKER_FRAME = 1 << 26
"""Bytes; brokers split what they send at their own, much smaller, `Limits.message_bytes`."""

_REQUEST_OVERHEAD = 64
"""Bytes that a request's frame adds to body and names at most."""

_CHARACTER_BYTES = 4
"""Bytes of a character of a name at most."""

_FRAMES_AT_ONCE = 16
"""Frames that are made together; the broker may not take them."""

_CLOSE_WITHIN = 2.0
"""Seconds that closing a session may take to hand over what waits."""

_log = logging.getLogger(__name__)

_STANDING = (Operation.ATTACH, Operation.ADVERTISE, Operation.SUBSCRIBE)


class ConnectError(Exception):
    """No broker answers at an address."""


class TooLargeError(ValueError):
    """An operation is larger than brokers take."""


class SessionFullError(Exception):
    """So much waits to be sent already that a publication was not taken."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The bounds a session keeps."""

    message_bytes: int = 1 << 20
    """Largest operation, as `Limits.message_bytes` of the broker."""
    batch: int = 128
    """Operations in one frame at most."""
    queue: int = 100_000
    """Operations that may wait to be sent; publications beyond are refused."""
    reconnect_first: float = 0.05
    """Seconds before a broken stream is tried again; doubles up to `reconnect_last`."""
    reconnect_last: float = 1.0


@dataclass(slots=True)
class _Standing:
    """What a logical client wants its broker to know: bodies by the client's own names."""

    advertisements: dict[str, bytes] = field(default_factory=dict)
    subscriptions: dict[str, bytes] = field(default_factory=dict)


class ClientSession:
    """One session with one broker."""

    def __init__(
        self, address: str, on_event: Callable[[ClientEvent], None], limits: SessionLimits | None = None
    ) -> None:
        self.address = address
        self.connections = 0
        """Streams opened so far."""
        self.on_up: Callable[[], None] = _nothing
        """Called when a stream has been opened."""
        self.on_down: Callable[[], None] = _nothing
        """Called when it has ended."""
        self._on_event = on_event
        self._limits = limits or SessionLimits()
        self._queue: deque[ClientRequest] = deque()
        self._unanswered: dict[int, ClientRequest] = {}
        self._standing: dict[ClientId, _Standing] = {}
        self._number = 0
        self._stream: _ClientStream | None = None
        self._call: grpc.aio.StreamStreamCall[bytes, bytes] | None = None
        self._task: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()
        self._problem = "no answer"

    @property
    def waiting(self) -> int:
        """Operations not sent yet."""
        return len(self._queue)

    async def open(self, within: float = 10.0) -> None:
        """Connects, trying again and again for so many seconds. Raises `ConnectError`."""
        self._task = asyncio.create_task(self._keep_open())
        try:
            async with asyncio.timeout(within):
                await self._connected.wait()
        except TimeoutError:
            await self.close()
            raise ConnectError(f"no broker answers at {self.address}: {self._problem}") from None

    async def close(self) -> None:
        """Hands over what waits, then ends the session; the broker withdraws what its clients still have."""
        if self._task is None:
            return
        if self._call is not None and self._stream is not None:
            with contextlib.suppress(TimeoutError, grpc.aio.AioRpcError, asyncio.InvalidStateError):
                async with asyncio.timeout(_CLOSE_WITHIN):
                    await self._stream.flushed()
                    self._stream.closing = True
                    await self._call.done_writing()
                    await asyncio.wait((self._task,))
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    def submit(self, client: ClientId, operation: Operation, id: str = "", body: bytes = b"") -> int:
        """Hands an operation over; its answer carries the number returned.

        Raises `TooLargeError`, and for a publication `SessionFullError`; the operation is not sent then.
        """
        names = _CHARACTER_BYTES * (len(client) + len(id))
        if len(body) + names + _REQUEST_OVERHEAD > self._limits.message_bytes:
            raise TooLargeError(
                f"{operation.name.lower()} {id!r} of client {client!r} has {len(body)} bytes;"
                f" brokers take at most {self._limits.message_bytes} (limits.message_bytes) with all that goes with it"
            )
        queue = self._queue
        if operation is Operation.PUBLISH and len(queue) >= self._limits.queue:
            raise SessionFullError(f"{len(queue)} operations wait for {self.address} already")
        self._number += 1
        request = ClientRequest(client, self._number, operation, id, body)
        if operation is not Operation.PUBLISH:
            self._unanswered[request.number] = request
            self._remember(request)
        queue.append(request)
        stream = self._stream
        if stream is not None:
            stream.wake()
        return request.number

    def take(self) -> Sequence[bytes]:
        """The next frames, for the stream."""
        queue, limits = self._queue, self._limits
        frames: list[bytes] = []
        while queue and len(frames) < _FRAMES_AT_ONCE:
            requests = [queue.popleft() for _ in range(min(len(queue), limits.batch))]
            frames += encode_client_frames(requests, limits.message_bytes)
        return frames

    def receive(self, data: bytes) -> None:
        """A frame from the stream."""
        for event in decode_broker_frame(data):
            if event.outcome is not Outcome.NOTIFIED:
                self._answered(event)
            else:
                self._on_event(event)

    def _answered(self, event: ClientEvent) -> None:
        request = self._unanswered.pop(event.number, None)
        if request is None and event.outcome is Outcome.CONFIRMED:
            return  # said again after a reconnection, and confirmed before
        if request is not None and event.outcome is Outcome.REJECTED:
            self._forget(request)
        self._on_event(event)

    # What stands, and is said again

    def _remember(self, request: ClientRequest) -> None:
        if request.operation is Operation.DETACH:
            self._standing.pop(request.client, None)
            return
        standing = self._standing.setdefault(request.client, _Standing())
        if request.operation is Operation.ADVERTISE:
            standing.advertisements[request.id] = request.body
        elif request.operation is Operation.SUBSCRIBE:
            standing.subscriptions[request.id] = request.body
        elif request.operation is Operation.UNADVERTISE:
            standing.advertisements.pop(request.id, None)
        elif request.operation is Operation.UNSUBSCRIBE:
            standing.subscriptions.pop(request.id, None)

    def _forget(self, request: ClientRequest) -> None:
        """The broker would not have it."""
        standing = self._standing.get(request.client)
        if standing is None:
            return
        if request.operation is Operation.ADVERTISE:
            standing.advertisements.pop(request.id, None)
        elif request.operation is Operation.SUBSCRIBE:
            standing.subscriptions.pop(request.id, None)

    def _say_again(self) -> None:
        """Puts everything that stands before the publications that wait, and settles what a new session settles."""
        unanswered = {(each.client, each.operation, each.id): number for number, each in self._unanswered.items()}
        publications = [request for request in self._queue if request.operation is Operation.PUBLISH]
        standing = [
            ClientRequest(client, unanswered.get((client, operation, id), 0), operation, id, body)
            for client, operation, id, body in self._all_standing()
        ]
        self._queue = deque((*standing, *publications))
        carried = {request.number for request in standing}
        for number, request in list(self._unanswered.items()):
            if number not in carried:
                self._answered(ClientEvent(Outcome.CONFIRMED, (request.client,), number, request.id))

    def _all_standing(self) -> Iterator[tuple[ClientId, Operation, str, bytes]]:
        for client, standing in self._standing.items():
            yield client, Operation.ATTACH, "", b""
            for id, body in standing.advertisements.items():
                yield client, Operation.ADVERTISE, id, body
            for id, body in standing.subscriptions.items():
                yield client, Operation.SUBSCRIBE, id, body

    # The stream

    async def _keep_open(self) -> None:
        delay = self._limits.reconnect_first
        while True:
            connections = self.connections
            if await self._open_once():
                return
            if self.connections > connections:
                delay = self._limits.reconnect_first
            await asyncio.sleep(delay)
            delay = min(2 * delay, self._limits.reconnect_last)

    async def _open_once(self) -> bool:
        """One stream's life. Whether it ended because the session was closed."""
        channel = rpc.channel(self.address, _LARGEST_BROKER_FRAME)
        stream: _ClientStream | None = None
        try:
            call = self._call = rpc.dial(channel, rpc.SESSION)
            await call.wait_for_connection()
            self.connections += 1
            if self.connections > 1:
                self._say_again()
            stream = self._stream = _ClientStream(call, self)
            self._connected.set()
            self.on_up()
            await stream.run()
            self._problem = "the broker closed the session"
        except asyncio.CancelledError:
            if rpc.cancelled_by_us():
                raise
            self._problem = "the broker cancelled the session"
        except grpc.aio.AioRpcError as error:
            self._problem = error.details() or str(error.code())
        except asyncio.InvalidStateError:
            self._problem = "the stream broke"
        except (MalformedFrameError, StreamClosedError) as error:
            self._problem = str(error)
        finally:
            self._stream = self._call = None
            await channel.close(None)
            if stream is not None:
                self.on_down()
        if stream is not None and stream.closing:
            return True
        if stream is not None:
            _log.warning("session with %s broke: %s", self.address, self._problem)
        return False


class _ClientStream(Duplex):
    """A session's stream while it lasts."""

    def __init__(self, stream: rpc.Stream, session: ClientSession) -> None:
        super().__init__(stream)
        self.closing = False
        self._session = session

    def on_frame(self, data: bytes) -> None:
        self._session.receive(data)

    def next_frames(self) -> Sequence[bytes]:
        return self._session.take()


def _nothing() -> None:
    """Stands in until somebody listens."""
