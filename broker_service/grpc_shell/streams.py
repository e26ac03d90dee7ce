"""The streams of a broker: they bring what clients and neighbours send, and take what waits for them.

What came in is handled when its sender's turn has come (`service`). A sender of control messages waits for the backlogs
that they lead to behind the broker (`links.backlog`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from broker_service.config import Limits
from broker_service.core.broker import Broker
from broker_service.grpc_shell.service import Service
from broker_service.links.backlog import LOOK_AFTER, LOOKS, has_backlog
from broker_service.links.frames import Arrivals
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.session import LinkSession, SilentNeighbourError
from broker_service.links.states import State
from broker_service.messages import BrokerFrame, BrokerId, ClientRequest, Kind, Message, Operation
from broker_service.service import Handler
from broker_service.transport.connection import UNIX_PEER
from broker_service.transport.duplex import Duplex, Stream, seconds_until
from broker_service.transport.precise_timer import PreciseTimer
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.wire import (
    MalformedFrameError,
    decode_client_frame,
    decode_link_frame,
    encode_broker_frame,
    encode_link_frame,
)

BESIDE_BACKLOGS = 16
"""Requests that are submitted together while there is a backlog of control messages."""

_PART_BYTES = 1 << 16
"""Bytes of them, about."""

_NOT_PASSED_ON = (Operation.PUBLISH, Operation.ATTACH)
"""Operations that lead to no control messages."""

_AT_ONCE = 64
"""Messages of a frame that are submitted together: all of a neighbour that keeps to the defaults."""

# Looked up once: a member of an enumeration takes 0.1 us in Python 3.11.
_PUBLISH: Final = Kind.PUBLISH
_OPEN: Final = State.OPEN


class BrokerStream(Duplex):
    """One stream of a broker, whose other end waits while control messages have a backlog behind the broker."""

    def __init__(
        self, stream: Stream, service: Service, links: Mapping[BrokerId, OverlayLink], source: BrokerId | None
    ) -> None:
        """`links` are all links of the broker; `source` is the neighbour at the other end, None for a client."""
        super().__init__(stream, service.due_writes)
        self._service = service
        self._links = links
        self._source = source
        self._waits = False
        """True when what comes next waits for backlogs behind this broker."""
        self._timer: asyncio.TimerHandle | None = None

    def _has_backlog(self) -> bool:
        return has_backlog(self._links.values(), self._source)

    async def _wait_for_backlogs(self) -> None:
        for _ in range(LOOKS):
            await asyncio.sleep(LOOK_AFTER)
            if not self._has_backlog():
                break
        self._waits = False


class SessionStream(BrokerStream):
    """A client session as long as its stream lasts."""

    def __init__(self, stream: Stream, broker: Broker, service: Service, limits: Limits) -> None:
        super().__init__(stream, service, broker.links, None)
        self._broker = broker
        self._batch = limits.batch
        self._largest = limits.message_bytes
        self._ended = False
        self._is_superseded = False
        """True once a client has asked for something of a session that another stream continues."""
        self._handler: Handler = self._handle
        self.session = broker.sessions.open()
        self.session.on_waiting = self.wake
        self.session.on_released = self._release
        self.session.on_unread = self._end_unread
        self._resumed = asyncio.Event()
        """Set when requests that were held back have been handled, or are held again."""
        self._arrivals = None if stream.peer == UNIX_PEER else Arrivals()
        """Arrivals of requests that are not handled; None of clients beside the broker, whose frames cross no
        network."""
        self._unsubmitted: Sequence[ClientRequest] = ()
        """The rest of a frame with more requests than are submitted together."""
        self._request_size = 0
        """Bytes of each, about."""
        self._welcome: Sequence[BrokerFrame] = (BrokerFrame(welcome=broker.welcome),)
        """The frame that the stream begins with, until it is written."""

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

    def _submit(self, requests: Sequence[ClientRequest]) -> bool:
        """Submits requests, as many as are submitted together, and keeps the others. Returns `Service.holds`."""
        most = max(1, _PART_BYTES // max(1, self._request_size))
        if len(requests) > BESIDE_BACKLOGS and self._has_backlog():
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
                self._waits = self._waits or self._has_backlog()
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


class LinkStream(BrokerStream):
    """Drives a session as long as a stream lasts; `number` is the session's for it."""

    def __init__(
        self,
        stream: Stream,
        session: LinkSession,
        number: int,
        service: Service,
        limits: Limits,
        *,
        links: Mapping[BrokerId, OverlayLink],
    ) -> None:
        """`links` are all links of the broker."""
        super().__init__(stream, service, links, session.neighbour)
        self._session = session
        self._pace = None  # the session has a pace of its own
        self._number = number
        self._largest = limits.message_bytes
        self._window = limits.window
        self._handler = partial(self._handle, number)
        self._unsubmitted: Sequence[Message] = ()
        """The rest of a frame with more messages than are submitted together."""
        self._message_size = 0
        """Bytes of each, about."""
        self._timer_at = 0
        self._sent: PreciseTimer | None = None
        """Runs out when the message that is being sent has left; made when sending first takes time."""
        session.link.on_waiting = self.wake
        self._set_timer()

    def on_frame(self, data: bytes) -> bool:
        """Makes a neighbour that floods the link wait for its own messages, and for those that they lead to; one that
        keeps to the window waits for the latter only."""
        session = self._session
        messages = session.received(self._number, decode_link_frame(data), time.monotonic_ns())
        if messages:
            self._message_size = len(data) // len(messages)
            self._submit(messages)
        if session.frame_due or session.unblocked:
            self.wake()
        return self._waits or bool(self._unsubmitted) or session.unhandled > self._window

    async def ready(self) -> None:
        while self._waits or self._unsubmitted or self._session.unhandled > self._window:
            if self._waits:
                await self._wait_for_backlogs()
            elif self._unsubmitted and not self._service.waits(self._handler):
                await asyncio.sleep(0)
                self._submit(self._unsubmitted)
            else:
                await self._service.progress()

    def _submit(self, messages: Sequence[Message]) -> None:
        """Submits messages, as many as are submitted together, and keeps the others."""
        part, self._unsubmitted = messages[:_AT_ONCE], messages[_AT_ONCE:]
        self._service.submit(self._handler, part, self._message_size * len(part))

    def next_frames(self) -> Sequence[bytes]:
        session, frames = self._session, list[bytes]()
        greeting = session.state is not _OPEN
        for frame in session.next_frames(time.monotonic_ns()):
            frames += encode_link_frame(frame, self._largest)
        self._write_at = session.write_at
        if session.sent_at is not None:
            if self._sent is None:
                self._sent = PreciseTimer(self.wake)
            self._sent.set(session.sent_at)
        if greeting and session.link.sendable:
            self.wake()  # what travels again does not wait for the neighbour to say something
        return frames

    def end(self) -> None:
        """The stream has ended."""
        if self._timer is not None:
            self._timer.cancel()
        if self._sent is not None:
            self._sent.close()
        self._session.closed(self._number)

    def _handle(self, number: int, messages: Sequence[Message]) -> None:
        session = self._session
        for message in messages:
            if message.kind is not _PUBLISH:
                self._waits = self._waits or self._has_backlog()
                break
        if session.handle(number, messages, time.monotonic_ns()):
            if session.frame_due:
                self.wake()
            self._set_timer()

    def _set_timer(self) -> None:
        """Has `_wake_session` called when the session asks for it, or earlier."""
        at = self._session.wake_at
        if at is None or (self._timer is not None and self._timer_at <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_later(seconds_until(at), self._wake_session)

    def _wake_session(self) -> None:
        self._timer = None
        try:
            self._session.wake(time.monotonic_ns())
        except SilentNeighbourError as error:
            self.close(str(error))
            return
        if self._session.frame_due:
            self.wake()
        self._set_timer()
