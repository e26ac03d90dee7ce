"""The stream of one overlay link while it lasts: frames out of the link's queue and into the broker.

Acknowledgements ride on whatever travels the other way; alone they travel when a quarter of the window waits for one,
or `ACKNOWLEDGE_AFTER` seconds after the first message that does. A link sends a frame at each beat of its heart,
empty if need be; one from which nothing came for three beats is dead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from broker_service.broker import Broker
from broker_service.config import Limits
from broker_service.grpc_shell.service import Service
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import Message
from broker_service.transport.duplex import Duplex
from broker_service.transport.rpc import Stream
from broker_service.transport.wire import MalformedFrameError, decode_link_frame, encode_link_frames

ACKNOWLEDGE_AFTER = 0.1
"""Seconds a neighbour waits at most for an acknowledgement."""

MISSED_HEARTBEATS = 3
"""At so many beats in a row without a frame since the one before, the neighbour is taken for dead."""


class LinkStream(Duplex):
    """A stream on which both ends have said hello."""

    def __init__(self, stream: Stream, link: OverlayLink, broker: Broker, service: Service, limits: Limits) -> None:
        super().__init__(stream)
        self._link = link
        self._broker = broker
        self._service = service
        self._largest = limits.message_bytes
        self._acknowledge_every = max(1, limits.window // 4)
        self._acknowledged = link.received
        self._must_speak = False
        self._acknowledge_later: asyncio.TimerHandle | None = None
        self._silent_beats = 0
        self._ended = False
        link.on_waiting = self._on_waiting

    def on_frame(self, data: bytes) -> None:
        self._silent_beats = 0
        messages, acknowledged = decode_link_frame(data)
        link = self._link
        try:
            link.acknowledge(acknowledged)
        except ValueError as error:
            raise MalformedFrameError(str(error)) from None
        if messages:
            self._service.submit(self._handle, messages)
        if self.idle and link.sendable:
            self.wake()

    def next_frames(self) -> Sequence[bytes]:
        link = self._link
        messages = link.take()
        if not messages and not self._must_speak:
            return ()
        self._must_speak = False
        self._acknowledged = link.received
        frames = encode_link_frames(messages, link.received, self._largest)
        while messages := link.take():
            frames += encode_link_frames(messages, link.received, self._largest)
        return frames

    def beat(self) -> None:
        """The link's heart beats: once in `Limits.heartbeat` seconds.

        Every beat sends a frame, whatever else was sent before: were it only for silent links, two frames could be
        nearly two beats apart, and three silent beats would not tell a dead neighbour from a quiet one.
        """
        self._silent_beats += 1
        if self._silent_beats >= MISSED_HEARTBEATS:
            self.close(f"{self._link.neighbour} is silent, {MISSED_HEARTBEATS} heartbeats were missed")
        else:
            self._speak()

    def end(self) -> None:
        """Nothing of this stream is handled any more; what was not acknowledged will come again on the next."""
        self._ended = True
        if self._acknowledge_later is not None:
            self._acknowledge_later.cancel()

    def _handle(self, messages: Sequence[Message]) -> None:
        if self._ended:
            return
        link = self._link
        self._broker.receive(link.neighbour, messages)
        if link.received - self._acknowledged >= self._acknowledge_every:
            self._speak()
        elif self._acknowledge_later is None:
            self._acknowledge_later = asyncio.get_running_loop().call_later(ACKNOWLEDGE_AFTER, self._acknowledge)

    def _acknowledge(self) -> None:
        self._acknowledge_later = None
        if self._link.received != self._acknowledged:
            self._speak()

    def _speak(self) -> None:
        """Sends a frame even if no message waits."""
        self._must_speak = True
        self.wake()

    def _on_waiting(self) -> None:
        if self.idle and self._link.sendable:
            self.wake()
