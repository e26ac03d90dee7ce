"""One stream of an overlay link over gRPC: it carries the frames of the link's session and keeps its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial

from broker_service.config import Limits
from broker_service.grpc_shell.service import Service
from broker_service.links.session import LinkSession, SilentNeighbourError
from broker_service.messages import Message
from broker_service.timers.precise_timer import PreciseTimer
from broker_service.transport.duplex import Duplex, seconds_until
from broker_service.transport.stream import Stream
from broker_service.transport.wire import decode_link_frame, encode_link_frame


class LinkStream(Duplex):
    """Drives a session as long as a stream lasts; `number` is the session's for it."""

    def __init__(self, stream: Stream, session: LinkSession, number: int, service: Service, limits: Limits) -> None:
        super().__init__(stream, service.due_writes)
        self._session = session
        self._number = number
        self._service = service
        self._largest = limits.message_bytes
        self._window = limits.window
        self._handler = partial(self._handle, number)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0
        self._sent: PreciseTimer | None = None
        """Runs out when the message that is being sent has left; made when sending first takes time."""
        session.link.on_waiting = self.wake
        self._set_timer()

    def on_frame(self, data: bytes) -> None:
        session = self._session
        messages = session.received(self._number, decode_link_frame(data), time.monotonic_ns())
        if messages:
            self._service.submit(self._handler, messages, len(data))
        if session.frame_due or session.link.sendable:
            self.wake()

    @property
    def held_up(self) -> bool:
        """Makes a neighbour that floods the link wait for its own messages; one that keeps to the window does not."""
        return self._session.unhandled > self._window

    async def ready(self) -> None:
        while self.held_up:
            await self._service.progress()

    def next_frames(self) -> Sequence[bytes]:
        frames: list[bytes] = []
        for frame in self._session.next_frames(time.monotonic_ns()):
            frames += encode_link_frame(frame, self._largest)
        if self._session.sent_at is not None:
            if self._sent is None:
                self._sent = PreciseTimer(self.wake)
            self._sent.set(self._session.sent_at)
        return frames

    def charge(self) -> int:
        """The session has charged its own pace."""
        return self._session.write_at

    def end(self) -> None:
        """The stream has ended."""
        if self._timer is not None:
            self._timer.cancel()
        if self._sent is not None:
            self._sent.close()
        self._session.closed(self._number)

    def _handle(self, number: int, messages: Sequence[Message]) -> None:
        session = self._session
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
