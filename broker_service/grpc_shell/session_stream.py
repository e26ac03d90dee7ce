"""The stream of one client session: it brings requests to the broker and events from the session's queue."""

from __future__ import annotations

from collections.abc import Sequence

from broker_service.broker import Broker
from broker_service.config import Limits
from broker_service.grpc_shell.service import Service
from broker_service.messages import ClientRequest
from broker_service.service import Handler
from broker_service.transport.duplex import Duplex
from broker_service.transport.rpc import Stream
from broker_service.transport.wire import decode_client_frame, encode_broker_frames

FRAMES_AT_ONCE = 16
"""Frames taken from a session's queue together; further events wait in the queue, where they are counted."""


class SessionStream(Duplex):
    """A client session as long as its stream lasts."""

    def __init__(self, stream: Stream, broker: Broker, service: Service, limits: Limits) -> None:
        super().__init__(stream)
        self._broker = broker
        self._service = service
        self._batch = limits.batch
        self._largest = limits.message_bytes
        self._ended = False
        self._handler: Handler = self._handle
        self.session = broker.open_session()
        self.session.on_waiting = self.wake

    def on_frame(self, data: bytes) -> None:
        self._service.submit(self._handler, decode_client_frame(data), len(data))

    async def ready(self) -> None:
        while self._service.full or self._service.waits(self._handler):
            await self._service.progress()

    def next_frames(self) -> Sequence[bytes]:
        frames: list[bytes] = []
        while len(frames) < FRAMES_AT_ONCE and (events := self.session.take(self._batch, self._largest)):
            frames += encode_broker_frames(events, self._largest)
        return frames

    def stop_handling(self) -> None:
        """Ignores further requests."""
        self._ended = True

    def end(self) -> None:
        """Closes the session: the broker withdraws its clients' advertisements and subscriptions."""
        self._ended = True
        self._broker.close_session(self.session)

    @property
    def drained(self) -> bool:
        """True when all events so far were written."""
        return self.idle and not self.session.waiting

    def _handle(self, requests: Sequence[ClientRequest]) -> None:
        if not self._ended:
            self._broker.handle(self.session, requests)
