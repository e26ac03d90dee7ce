"""One stream of an overlay link over gRPC: it carries the frames of the link's session and keeps its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from broker_service.config import Limits
from broker_service.grpc_shell.service import Service
from broker_service.links.backlog import LOOK_AFTER, LOOKS, has_backlog
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.session import LinkSession, SilentNeighbourError
from broker_service.links.states import State
from broker_service.messages import BrokerId, Kind, Message
from broker_service.transport.duplex import Duplex, Stream, seconds_until
from broker_service.transport.precise_timer import PreciseTimer
from broker_service.transport.wire import decode_link_frame, encode_link_frame

_AT_ONCE = 64
"""Messages of a frame that are submitted together: all of a neighbour that keeps to the defaults."""

# Looked up once: a member of an enumeration takes 0.1 us in Python 3.11.
_PUBLISH: Final = Kind.PUBLISH
_OPEN: Final = State.OPEN


class LinkStream(Duplex):
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
        super().__init__(stream, service.due_writes)
        self._links = links
        self._session = session
        self._pace = None  # the session has a pace of its own
        self._number = number
        self._service = service
        self._largest = limits.message_bytes
        self._window = limits.window
        self._handler = partial(self._handle, number)
        self._unsubmitted: Sequence[Message] = ()
        """The rest of a frame with more messages than are submitted together."""
        self._message_size = 0
        """Bytes of each, about."""
        self._waits = False
        """True when the next frame waits for backlogs behind this broker."""
        self._timer: asyncio.TimerHandle | None = None
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

    async def _wait_for_backlogs(self) -> None:
        for _ in range(LOOKS):
            await asyncio.sleep(LOOK_AFTER)
            if not has_backlog(self._links.values(), self._session.neighbour):
                break
        self._waits = False

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
                self._waits = self._waits or has_backlog(self._links.values(), session.neighbour)
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
