"""This broker's end of one overlay link: greets the neighbour on each new stream, and opens new ones where it shall.

At most one stream is served at a time. A new one from the neighbour means that it gave the former one up: that is ended
here too before the hello that says how much of it was handled.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import grpc

from broker_service.broker import Broker
from broker_service.config import BrokerConfig, Limits, LinkConfig
from broker_service.generated import broker_pb2 as pb
from broker_service.grpc_shell.link_stream import MISSED_HEARTBEATS, LinkStream
from broker_service.grpc_shell.service import Service
from broker_service.transport import rpc
from broker_service.transport.duplex import StreamClosedError
from broker_service.transport.wire import FRAME_OVERHEAD, MalformedFrameError, decode_hello, encode_hello

_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """The other end is not the neighbour this link is for."""


def largest_link_frame(limits: Limits) -> int:
    """Bytes a neighbour's frame may have: a client's largest message fits, with what routing adds to it."""
    return 2 * limits.message_bytes + FRAME_OVERHEAD


class LinkPort:
    """One overlay link of a broker process."""

    def __init__(self, broker: Broker, config: BrokerConfig, link: LinkConfig, service: Service) -> None:
        self.neighbour = link.neighbour
        self.local = link.local
        self.malformed = 0
        """Frames on streams opened from here that could not be read."""
        self._broker = broker
        self._config = config
        self._remote = link.remote
        self._service = service
        self._stream: LinkStream | None = None
        self._free = asyncio.Lock()
        """Held while a stream is served."""
        self._accepted = 0
        """Streams that the neighbour opened so far."""
        self._said = ""

    async def accept(self, stream: rpc.Stream, hello: pb.Hello) -> None:
        """Serves a stream that the neighbour opened with this hello. Raises `RefusedError`.

        Of several that come while a former one ends, only the latest is served: the neighbour gave up the others.
        """
        self._check(hello)
        self._accepted += 1
        place, given_up = self._accepted, f"{self.neighbour} opened another stream"
        self.close(given_up)
        async with self._free:
            if place != self._accepted:
                raise StreamClosedError(given_up)
            await stream.write(self._hello())
            await self._serve(stream, hello)

    async def keep_open(self) -> None:
        """Opens a stream to the neighbour, and another whenever it breaks, until cancelled."""
        limits = self._config.limits
        delay = limits.reconnect_first
        while True:
            if await self._open_once():
                delay = limits.reconnect_first
            await asyncio.sleep(delay)
            delay = min(2 * delay, limits.reconnect_last)

    def beat(self) -> None:
        """To be called once in `Limits.heartbeat` seconds."""
        if self._stream is not None:
            self._stream.beat()

    def close(self, reason: str) -> None:
        """Ends the stream, if there is one."""
        if self._stream is not None:
            self._stream.close(reason)

    @property
    def flushed(self) -> bool:
        """Whether nothing waits or is in flight on a link that works."""
        link = self._broker.links[self.neighbour]
        return not link.up or not (link.queue_length or link.in_flight)

    async def _open_once(self) -> bool:
        """One stream's life. Whether the link came up."""
        limits = self._config.limits
        came_up = False
        channel = rpc.channel(self._remote, largest_link_frame(limits))
        try:
            call = rpc.dial(channel, rpc.LINK)
            async with asyncio.timeout(MISSED_HEARTBEATS * limits.heartbeat):
                await call.write(self._hello())
                answer: Any = await call.read()
            if answer is rpc.EOF:
                raise StreamClosedError(f"{self._remote} closed the stream without a hello")
            hello = decode_hello(answer)
            self._check(hello)
            came_up = True
            async with self._free:
                await self._serve(call, hello)
        except TimeoutError:
            self._say(f"{self._remote} does not answer")
        except asyncio.CancelledError:
            if rpc.cancelled_by_us():
                raise
            self._say(f"{self._remote} cancelled the stream")
        except grpc.aio.AioRpcError as error:
            self._say(f"{self._remote}: {error.details()}")
        except asyncio.InvalidStateError:
            self._say(f"{self._remote}: the stream broke")
        except (RefusedError, StreamClosedError) as error:
            self._say(str(error))
        except MalformedFrameError as error:
            self.malformed += 1
            self._say(f"{self._remote} sent a malformed frame: {error}")
        except Exception:
            _log.exception("link to %s: the stream ended by a fault of this broker", self.neighbour)
        finally:
            await channel.close(None)
        return came_up

    async def _serve(self, stream: rpc.Stream, hello: pb.Hello) -> None:
        """Serves an open stream until it ends, and tells the broker both times."""
        known = hello.neighbour_incarnation == self._config.incarnation
        try:
            self._broker.link_up(self.neighbour, hello.incarnation, hello.handled if known else 0)
        except ValueError as error:
            raise RefusedError(f"link to {self.neighbour}: {error}") from None
        link = self._broker.links[self.neighbour]
        served = self._stream = LinkStream(stream, link, self._broker, self._service, self._config.limits)
        self._said = ""
        _log.info("link to %s (incarnation %d) is up", self.neighbour, hello.incarnation)
        try:
            await served.run()
        finally:
            served.end()
            self._stream = None
            self._broker.link_down(self.neighbour)

    def _hello(self) -> bytes:
        link = self._broker.links[self.neighbour]
        return encode_hello(
            pb.Hello(
                broker=self._config.id,
                incarnation=self._config.incarnation,
                protocol=self._config.protocol,
                neighbour_incarnation=link.neighbour_incarnation,
                handled=link.received,
            )
        )

    def _check(self, hello: pb.Hello) -> None:
        if hello.broker != self.neighbour:
            raise RefusedError(f"link to {self.neighbour}: at {self._remote} is {hello.broker}")
        if hello.protocol != self._config.protocol:
            raise RefusedError(
                f"link to {self.neighbour}: it routes by {hello.protocol!r}, this broker by {self._config.protocol!r}"
            )
        present = self._broker.links[self.neighbour].neighbour_incarnation
        if hello.incarnation < present:
            raise RefusedError(
                f"link to {self.neighbour}: its incarnation {hello.incarnation} has ended, {present} came after it"
            )

    def _say(self, reason: str) -> None:
        """Logs why the link does not work, once for each reason in a row."""
        if reason != self._said:
            _log.warning("link to %s: %s", self.neighbour, reason)
        self._said = reason
