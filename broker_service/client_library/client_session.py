"""The client's end of a session over gRPC: operations are queued without waiting, events arrive by callback.

`client_requests` decides which requests travel; the streams that carry them are opened here, one after another.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from typing import Final

from broker_service.client_library.client_requests import ClientRequests, SessionLimits
from broker_service.client_library.slow_reading import SlowReading
from broker_service.links.backoff import BackOff
from broker_service.messages import ClientEvent, ClientFrame, ClientRequest, Welcome
from broker_service.transport.channel import Call, dial
from broker_service.transport.duplex import DueWrites, Duplex, Stream, StreamClosedError
from broker_service.transport.methods import SESSION
from broker_service.transport.outgoing import FIRST_WINDOW
from broker_service.transport.silence import SILENT_HEARTBEATS
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.stream import STREAM_WINDOW
from broker_service.transport.wire import (
    MalformedFrameError,
    decode_broker_frame,
    encode_client_frames,
    encode_first_frame,
    encode_processed,
)
from record.callbacks import do_nothing

_LARGEST_BROKER_FRAME = 1 << 26
"""Bytes; brokers split what they send at their own, much smaller, `Limits.message_bytes`."""

_DIAL_ATTEMPTS = 2
"""Longest back-offs that an attempt to connect over a network may take: the kernel repeats what gets no answer ever
more rarely, so that a new attempt finds a network that works again sooner."""

_CLOSE_WITHIN = 2.0
"""Seconds that closing a session may take to send the requests that wait."""

_NAME_BYTES = 16
"""Random bytes in a session's name, by which its broker knows it again after a reconnection."""

_FRAMES_AT_ONCE: Final = 16
"""Frames that are encoded together; further requests wait, because the broker may not read."""

_log = logging.getLogger(__name__)


class ConnectError(Exception):
    """No broker answers at an address."""


class RequestStream(Duplex):
    """One stream of a session: it carries requests to the broker, and brings its answers and notifications."""

    def __init__(
        self,
        stream: Stream,
        due_writes: DueWrites,
        requests: ClientRequests,
        begin: Callable[[Welcome], bytes],
        reads: float | None,
    ) -> None:
        """`begin` is called with the broker's welcome and returns the first frame to send. `reads` is the number of
        notifications that are read in a second; None: whatever comes."""
        super().__init__(stream, due_writes)
        self.closing = False
        self.begun = False
        """True once the broker's welcome has come."""
        self.paused = False
        """True while nothing is to be sent."""
        self.processed = 0
        """Number of the latest notification that was processed and is to be acknowledged; 0: none."""
        self._requests = requests
        self._begin = begin
        self._first: Sequence[bytes] = ()
        self._reading: SlowReading | None = None if reads is None else SlowReading(reads)
        requests.on_waiting = self.wake

    def on_frame(self, data: bytes) -> bool:
        frame, reading = decode_broker_frame(data), self._reading
        if self.begun and reading is not None:
            reading.take(frame, time.monotonic())
            self._read_due(reading)
        elif self.begun:
            self._requests.receive(frame)
        elif frame.welcome is None:
            raise MalformedFrameError("the first frame of a broker is no welcome")
        else:
            self._first = (self._begin(frame.welcome),)
            self.begun = True
            self.wake()
        return reading is not None and reading.next_at is not None

    async def ready(self) -> None:
        """Reads what has come, one by one; nothing further is taken from the connection meanwhile."""
        reading = self._reading
        while reading is not None and (at := reading.next_at) is not None and self._stream.error is None:
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            self._read_due(reading)

    def _read_due(self, reading: SlowReading) -> None:
        for part in reading.due(time.monotonic()):
            self._requests.receive(part)

    def next_frames(self) -> Sequence[bytes]:
        if not self.begun:
            return ()
        first, self._first = self._first, ()
        frames = list(first)
        if self.paused:
            return frames
        if self.processed:
            frames.append(encode_processed(self.processed))
            self.processed = 0
        most = len(first) + _FRAMES_AT_ONCE
        while len(frames) < most:
            if requests := self._requests.take():
                frames += encode_client_frames(requests, self._requests.limits.message_bytes)
            if len(requests) < self._requests.limits.batch:
                return frames
        self.wake()
        return frames


class ClientSession:
    """One session with one broker."""

    def __init__(
        self,
        address: str,
        on_event: Callable[[ClientEvent], None],
        limits: SessionLimits | None = None,
        on_acknowledged: Callable[[ClientRequest], None] = do_nothing,
        due_writes: DueWrites | None = None,
    ) -> None:
        """The callbacks are those of `ClientRequests`. `due_writes` may be shared with other sessions."""
        self.address = address
        self.connections = 0
        """Streams opened so far."""
        self.announces_starts = False
        """True when the broker announces starts of subscriptions, as it said when the latest stream was opened."""
        self.on_up: Callable[[], None] = do_nothing
        """Called when a stream has been opened."""
        self.on_down: Callable[[], None] = do_nothing
        """Called when a stream has ended."""
        self.make_socket: Callable[[], socket.socket] | None = None
        """Makes the socket of each connection to a `host:port`, where that is not to be one of this process's network;
        to be set before `open`."""
        self.reads: float | None = None
        """Notifications that are read in a second, from the connection's flow control on; None: whatever comes. To be
        set before `open`."""
        self.numbered = False
        """True where the broker is to number notifications; to be set before `open`."""
        self._limits = limits or SessionLimits()
        self._due_writes = due_writes or DueWrites()
        self._requests = ClientRequests(address, on_event, self._limits, on_acknowledged)
        self.submit = self._requests.submit
        """Hands an operation over, as `ClientRequests.submit` does."""
        self._name = secrets.token_hex(_NAME_BYTES)
        self._stream: RequestStream | None = None
        self._call: Call | None = None
        self._task: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()
        self._problem = "no answer"
        self._paused = False
        self._is_succeeded = False
        self._deaf: socket.socket | None = None
        """Ignores what comes for a stream that was given up in silence."""

    @property
    def waiting(self) -> int:
        """Operations not sent yet."""
        return self._requests.waiting

    async def open(self, within: float | None = 10.0) -> None:
        """Connects, with repeated attempts for `within` seconds; None: until it succeeds. Raises `ConnectError`."""
        self._task = asyncio.create_task(self._keep_open())
        try:
            async with asyncio.timeout(within):
                await self._connected.wait()
        except TimeoutError:
            await self.close()
            raise ConnectError(f"no broker answers at {self.address}: {self._problem}") from None

    async def close(self) -> None:
        """Sends the requests that wait, then ends the session; the broker withdraws what its clients declared."""
        if self._deaf is not None:
            self._deaf.close()
        if self._task is None:
            return
        if self._call is not None and self._stream is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_WITHIN):
                    await self._stream.flushed()
                    self._stream.closing = True
                    self._call.done_writing()
                    await asyncio.wait((self._task,))
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    def break_stream(self) -> None:
        """Breaks the stream, as a network that fails does; the session opens another and repeats what is in doubt."""
        if self._stream is not None:
            self._stream.close("the stream was broken on purpose")

    def pause(self) -> None:
        """Sends nothing and takes nothing from now on, as a frozen process. The connection stays open."""
        self._paused = True
        if self._stream is not None:
            self._stream.paused = True
        if self._call is not None:
            self._call.pause_reading()

    def resume(self) -> None:
        """Undoes `pause`."""
        self._paused = False
        if self._call is not None:
            self._call.resume_reading()
        if self._stream is not None:
            self._stream.paused = False
            self._stream.wake()

    def crash(self) -> None:
        """Ends the session as a crash of this process does: the kernel resets its connection, and publications that the
        broker has not acknowledged are given up. `restart` opens it again."""
        if self._call is not None:
            self._call.reset()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._requests.forget_publications()

    def restart(self) -> None:
        """Opens the session again after a crash, as a process does that starts anew."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep_open())

    def fall_silent(self) -> None:
        """Gives the stream up as a host does that has lost its network: the broker hears nothing any more, until this
        session is closed. Another one may `succeed` it."""
        if self._call is not None and self.make_socket is not None:
            self._deaf = self._call.fall_silent(self.make_socket)
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def succeed(self, former: ClientSession) -> None:
        """Continues a session of the same clients, before it is opened: under its name, with what it has declared and
        not sent (`ClientRequests.succeed`). The former one may go on receiving until it is closed. It opens no further
        stream, because one that is opened later under this name takes the clients back."""
        self._name = former._name
        self._requests.succeed(former._requests)
        former._is_succeeded = True
        if former._task is not None and (former._stream is None or not former._stream.begun):
            former._task.cancel()
            former._task = None

    def acknowledge(self, number: int) -> None:
        """Tells the broker that the notifications of this stream up to this number have been processed."""
        if self._stream is not None:
            self._stream.processed = number
            self._stream.wake()

    def _begin(self, welcome: Welcome) -> bytes:
        """The broker has accepted the stream. Returns the first frame to send."""
        self.connections += 1
        self.announces_starts = welcome.announces_starts
        self._requests.begin(welcome)
        self._connected.set()
        self.on_up()
        return encode_first_frame(ClientFrame((), self._name, self.numbered))

    # The stream

    async def _keep_open(self) -> None:
        back_off = BackOff(self._limits.reconnect_first, self._limits.reconnect_last)
        while True:
            connections = self.connections
            if await self._open_once() or self._is_succeeded:
                return
            if self.connections > connections:
                back_off.reset()
            await asyncio.sleep(back_off.take())

    async def _open_once(self) -> bool:
        """Serves one stream from its opening to its end. Returns whether none is to follow, because this end has closed
        the session or another one has taken it over."""
        stream: RequestStream | None = None
        taken_over = False
        try:
            window = STREAM_WINDOW if self.reads is None else FIRST_WINDOW
            async with asyncio.timeout(_DIAL_ATTEMPTS * self._limits.reconnect_last if self.make_socket else None):
                call = await dial(self.address, SESSION, _LARGEST_BROKER_FRAME, self.make_socket, window)
            self._call = call
            call.expect_signs_of_life(SILENT_HEARTBEATS * self._limits.heartbeat)
            stream = self._stream = RequestStream(call, self._due_writes, self._requests, self._begin, self.reads)
            stream.paused = self._paused
            await stream.run()
            self._problem = "the broker closed the session"
        except TimeoutError:
            self._problem = "no answer"
        except (RpcError, MalformedFrameError, StreamClosedError) as error:
            self._problem = str(error)
            taken_over = isinstance(error, RpcError) and error.code == StatusCode.ABORTED
        except Exception as error:  # raised by a callback: it ends the stream, not the session
            _log.exception("session with %s: an event could not be handled", self.address)
            self._problem = f"an event could not be handled: {error!r}"
        finally:
            if self._call is not None:
                self._call.close()
            self._stream = self._call = None
            self._requests.on_waiting = do_nothing
            if stream is not None and stream.begun:
                self.on_down()
        if stream is not None and stream.closing:
            return True
        if stream is not None and stream.begun:
            _log.warning("session with %s broke: %s", self.address, self._problem)
        return taken_over  # another stream would take the clients back, and so on without end
