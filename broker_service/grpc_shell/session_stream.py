"""The stream of one client session: it brings requests to the broker and events from the session's queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from broker_service.config import Limits
from broker_service.core.broker import Broker
from broker_service.grpc_shell.service import Service
from broker_service.links.backlog import LOOK_AFTER, LOOKS, has_backlog
from broker_service.links.frames import Arrivals
from broker_service.messages import BrokerFrame, ClientRequest, Operation
from broker_service.service.service_queue import Handler
from broker_service.transport.connection import UNIX_PEER
from broker_service.transport.duplex import Duplex, Stream, seconds_until
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.wire import MalformedFrameError, decode_client_frame, encode_broker_frame

BESIDE_BACKLOGS = 16
"""Requests that are submitted together while there is a backlog of control messages."""

_PART_BYTES = 1 << 16
"""Bytes of them, about."""

_NOT_PASSED_ON = (Operation.PUBLISH, Operation.ATTACH)
"""Operations that lead to no control messages."""


class SessionStream(Duplex):
    """A client session as long as its stream lasts."""

    def __init__(self, stream: Stream, broker: Broker, service: Service, limits: Limits) -> None:
        super().__init__(stream, service.due_writes)
        self._broker = broker
        self._service = service
        self._batch = limits.batch
        self._largest = limits.message_bytes
        self._ended = False
        self._is_superseded = False
        """True once a client has asked for something of a session that another stream continues."""
        self._loop = asyncio.get_running_loop()
        self._handler: Handler = self._handle
        self.session = broker.sessions.open()
        self.session.on_waiting = self.wake
        self.session.on_released = self._release
        self.session.on_unread = self._end_unread
        self._resumed = asyncio.Event()
        """Set when requests that were held back have been handled, or are held again."""
        self._links = broker.links.values()
        self._arrivals = None if stream.peer == UNIX_PEER else Arrivals()
        """Arrivals of requests that are not handled; None of clients beside the broker, whose frames cross no
        network."""
        self._unsubmitted: Sequence[ClientRequest] = ()
        """The rest of a frame with more requests than are submitted together."""
        self._request_size = 0
        """Bytes of each, about."""
        self._waits = False
        """True when the next requests wait for backlogs behind this broker."""
        self._welcome: Sequence[BrokerFrame] = (BrokerFrame(welcome=broker.welcome),)
        """The frame that the stream begins with, until it is written."""
        self._timer: asyncio.TimerHandle | None = None

    def on_frame(self, data: bytes) -> bool:
        frame = decode_client_frame(data)
        if frame.session:
            self._broker.sessions.name(self.session, frame.session)
            self.session.numbered = frame.numbered
        if frame.acknowledged > self.session.progress.notified:
            raise MalformedFrameError(
                f"notification {frame.acknowledged} is acknowledged, and {self.session.progress.notified} were sent"
            )
        if frame.requests and self.session.continued:
            self._is_superseded = True
            return True
        if frame.requests:
            self._request_size = len(data) // len(frame.requests)
            if self._arrivals is not None:
                self._arrivals.frames.append((time.monotonic_ns(), len(frame.requests)))
            held = self._submit(frame.requests)
        else:
            held = self._service.holds(self._handler)
        return held or self._waits or bool(self._unsubmitted or self.session.held)

    async def ready(self) -> None:
        if self._is_superseded:
            await self._end_superseded()
        while self._waits or self._unsubmitted or self.session.held or self._service.holds(self._handler):
            if self.session.held:
                self._resumed.clear()
                await self._resumed.wait()
            elif self._waits:
                await self._wait_for_backlogs()
            elif self._service.holds(self._handler):
                await self._service.progress()
            else:
                self._submit(self._unsubmitted)

    async def _end_superseded(self) -> None:
        """Ends the stream once all events are written. No more can come, because the session's clients are withdrawn. A
        client that asks for nothing, as one does whose move has it receive by both streams, keeps its stream.

        Raises `RpcError`, which is the status for the client.
        """
        while not self.drained:
            await self.flushed()
        raise RpcError(StatusCode.ABORTED, "another stream has taken over this session, under the same name")

    async def _wait_for_backlogs(self) -> None:
        for _ in range(LOOKS):
            await asyncio.sleep(LOOK_AFTER)
            if not has_backlog(self._links, None):
                break
        self._waits = False

    def _submit(self, requests: Sequence[ClientRequest]) -> bool:
        """Submits requests, as many as are submitted together, and keeps the others. Returns `Service.holds`."""
        most = max(1, _PART_BYTES // max(1, self._request_size))
        if len(requests) > BESIDE_BACKLOGS and has_backlog(self._links, None):
            most = min(most, BESIDE_BACKLOGS)
        part, self._unsubmitted = requests[:most], requests[most:]
        return self._service.submit(self._handler, part, self._request_size * len(part))

    def next_frames(self) -> Sequence[bytes]:
        welcome, self._welcome = self._welcome, ()
        frames: list[bytes] = []
        for frame in (*welcome, *self.session.next_frames(self._batch, self._largest)):
            frames += encode_broker_frame(frame, self._largest)
        return frames

    def stop_handling(self) -> None:
        """Ignores further requests."""
        self._ended = True

    def end(self) -> None:
        """Closes the session: the broker withdraws its clients' advertisements and subscriptions."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._broker.sessions.close(self.session)

    @property
    def drained(self) -> bool:
        """True when all events so far were written."""
        return self.idle and not self.session.waiting

    def _handle(self, requests: Sequence[ClientRequest]) -> None:
        if self._ended:
            return
        if self._arrivals is None:
            self._broker.sessions.handle(self.session, requests)
        else:
            for came, part in self._arrivals.parts(requests):
                self.session.came = came
                self._broker.sessions.handle(self.session, part)
        for request in requests:
            if request.operation not in _NOT_PASSED_ON:
                self._waits = self._waits or has_backlog(self._links, None)
                break
        if (at := self.session.wake_at) is not None and self._timer is None:
            self._set_timer(at)

    def _set_timer(self, at: int) -> None:
        """Has `_wake_session` called when the session asks for it."""
        self._timer = self._loop.call_later(seconds_until(at), self._wake_session)

    def _wake_session(self) -> None:
        self._timer = None
        self.session.wake(time.monotonic_ns())
        if (at := self.session.wake_at) is not None:
            self._set_timer(at)

    def _end_unread(self) -> None:
        """Ends the stream of a client that does not read; it repeats its requests on the next one."""
        self._ended = True
        self._finish(RpcError(StatusCode.RESOURCE_EXHAUSTED, "the client does not read its answers or notifications"))

    def _release(self) -> None:
        self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        if not self._ended:
            self._broker.sessions.resume(self.session)
            if (at := self.session.wake_at) is not None and self._timer is None:
                self._set_timer(at)
        self._resumed.set()
