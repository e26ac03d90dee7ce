"""The overlay links of a broker process: a port for each, and the addresses on which neighbours' streams come in.

A broker listens once on each address, and a stream's hello says which link it belongs to. Links that are added while
the broker runs may use an address that it listens on already or another one.

A port accepts or opens the streams that its link's session uses, and serves one at a time. A new one from the neighbour
means that it gave the former one up, so the former one is ended here before the new one is answered.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from broker_service.config import BrokerConfig, Limits, LinkConfig
from broker_service.core.broker import Broker
from broker_service.grpc_shell.listening import bind
from broker_service.grpc_shell.service import Service
from broker_service.grpc_shell.streams import LinkStream
from broker_service.links.backoff import phase_of
from broker_service.links.frames import Hello
from broker_service.links.greeting import RefusedError
from broker_service.links.session import MISSED_HEARTBEATS, LinkViolationError
from broker_service.links.states import State
from broker_service.messages import BrokerId
from broker_service.transport.channel import dial
from broker_service.transport.duplex import Stream, StreamClosedError
from broker_service.transport.methods import LINK
from broker_service.transport.server import RpcServer, ServedStream, ServerLimits
from broker_service.transport.status import RpcError
from broker_service.transport.wire import FRAME_OVERHEAD, MalformedFrameError, decode_hello

_STREAMS_WITHOUT_HELLO = 64
"""Streams on an address besides those of known links. Further ones are refused with RESOURCE_EXHAUSTED."""
_MOST_CHANGING_LINKS = 10_000
"""Links over one address of a broker whose neighbours change."""

ServeStream = Callable[[Coroutine[Any, Any, None], str], Awaitable[None]]
"""Runs what serves a stream of this name. Raises `RpcError` if that fails."""

_log = logging.getLogger(__name__)


def largest_link_frame(limits: Limits) -> int:
    """The largest frame taken from a neighbour, in bytes: a client's largest message and what routing adds to it."""
    return 2 * limits.message_bytes + FRAME_OVERHEAD


class LinkPort:
    """One overlay link of a broker process."""

    def __init__(self, broker: Broker, config: BrokerConfig, link: LinkConfig, service: Service) -> None:
        self.neighbour = link.neighbour
        self.local = link.local
        self.malformed = 0
        """Frames on streams opened from here that could not be read."""
        limits = config.limits
        self._limits = limits
        self._remote = link.remote
        self._service = service
        phase = phase_of(config.id, link.neighbour)
        self._share_waited = 1 - phase / 2
        """Share of the back-off's delays that this link waits; links differ in it (`backoff`)."""
        self._links = broker.links
        own = broker.links[link.neighbour]
        self._session = broker.neighbours.session_of(own, limits.heartbeat, first_beat=1 - phase)
        self._stream: LinkStream | None = None
        self._free = asyncio.Lock()
        """Held while a stream is served."""
        self._logged = ""

    async def accept(self, stream: ServedStream, hello: Hello) -> None:
        """Serves a stream that the neighbour opened with this hello. Raises `RefusedError`.

        It must come from the address of the neighbour's end, because whoever shares another link with this broker can
        connect to this one's address, too. Of several that come while a former one ends, only the latest is served: the
        neighbour gave up the others.
        """
        if not _comes_from(stream.peer, self._remote):
            raise RefusedError(f"link to {self.neighbour}: {stream.peer} is not the address of its other end")
        number = self._session.accept(hello, time.monotonic_ns())
        given_up = f"{self.neighbour} opened another stream"
        self.close(given_up)
        try:
            async with self._free:
                if number != self._session.stream:
                    raise StreamClosedError(given_up)
                await self._serve(stream, number)
        finally:
            self._session.closed(number)

    async def keep_open(self) -> None:
        """Opens a stream to the neighbour, and another whenever it breaks, until cancelled."""
        while True:
            await self._open_once()
            await asyncio.sleep(self._share_waited * self._session.redial_after())

    def close(self, reason: str) -> None:
        """Ends the stream, if there is one."""
        if self._stream is not None:
            self._stream.close(reason)

    def end(self) -> None:
        """Ends the stream at once and for good, because the link is removed."""
        self._session.closed(self._session.stream)
        self.close("the link is removed")

    async def _open_once(self) -> None:
        """Serves one stream to the neighbour from its opening to its end."""
        try:
            async with self._free:
                async with asyncio.timeout(MISSED_HEARTBEATS * self._limits.heartbeat):
                    call = await dial(self._remote, LINK, largest_link_frame(self._limits))
                try:
                    await self._serve(call, self._session.dial(time.monotonic_ns()))
                finally:
                    call.close()
            self._log_once(f"{self._remote} closed the stream")
        except TimeoutError:
            self._log_once(f"{self._remote} does not answer")
        except (RpcError, RefusedError, StreamClosedError) as error:
            self._log_once(f"{self._remote}: {error}")
        except (MalformedFrameError, LinkViolationError) as error:
            self.malformed += 1
            self._log_once(f"{self._remote} sent a malformed frame: {error}")
        except Exception:
            _log.exception("link to %s: the stream ended by a fault of this broker", self.neighbour)

    async def _serve(self, stream: Stream, number: int) -> None:
        """Serves a stream until it ends; the session brings the link up and down."""
        served = self._stream = LinkStream(
            stream, self._session, number, self._service, self._limits, links=self._links
        )
        try:
            await served.run()
        finally:
            if self._session.state is State.OPEN:
                self._logged = ""
            self._stream = None
            served.end()

    def _log_once(self, reason: str) -> None:
        """Logs why the link is down; a reason that repeats is logged once."""
        if reason != self._logged:
            _log.warning("link to %s: %s", self.neighbour, reason)
        self._logged = reason


class LinkPorts:
    """A broker process's overlay links: a port for each, and the servers that neighbours' streams come in at. It must
    be used within a running event loop."""

    def __init__(
        self,
        broker: Broker,
        config: BrokerConfig,
        service: Service,
        serve: ServeStream,
        report_refused: Callable[[str, str], None],
    ) -> None:
        """`report_refused` is called with the name of a connection that is refused, and the reason."""
        self.servers: dict[str, RpcServer] = {}
        """Servers by the address on which they listen."""
        self._broker = broker
        self._config = config
        self._service = service
        self._serve = serve
        self._report_refused = report_refused
        self._ports: dict[BrokerId, LinkPort] = {}
        self._dialling: dict[BrokerId, asyncio.Task[None]] = {}
        for link in config.links:
            self._make_port(link)

    def __iter__(self) -> Iterator[LinkPort]:
        return iter(self._ports.values())

    async def listen(self) -> None:
        """Accepts streams of neighbours. Raises `CannotListenError`."""
        for local in dict.fromkeys(link.local for link in self._config.links if not link.dial):
            await self._listen(local)

    def dial(self) -> None:
        """Opens streams to those neighbours that do not."""
        for link in self._config.links:
            if link.dial:
                self._dial(link.neighbour)

    async def add(self, link: LinkConfig) -> None:
        """Gives the broker a neighbour. Raises `ValueError` as `Neighbours.add` does, and `CannotListenError`."""
        self._broker.neighbours.require_change()
        if not link.dial and link.local not in self.servers:
            await self._listen(link.local)
        self._broker.neighbours.add(link)
        self._make_port(link)
        if link.dial:
            self._dial(link.neighbour)

    def remove(self, neighbour: BrokerId) -> None:
        """Takes a neighbour from the broker. Raises `ValueError` as `Neighbours.remove` does."""
        self._broker.neighbours.require_change()
        self._port(neighbour).end()
        del self._ports[neighbour]
        if (dialling := self._dialling.pop(neighbour, None)) is not None:
            dialling.cancel()
        self._broker.neighbours.remove(neighbour)

    def reset(self, neighbour: BrokerId) -> None:
        """Closes the stream to a neighbour, if there is one. Raises `ValueError` for a broker that is no neighbour."""
        self._port(neighbour).close("the stream was reset")

    async def close(self, reason: str) -> None:
        """Ends all streams, and opens no further ones."""
        for port in self:
            port.close(reason)
        for task in self._dialling.values():
            task.cancel()
        await asyncio.gather(*self._dialling.values(), return_exceptions=True)

    def _port(self, neighbour: BrokerId) -> LinkPort:
        self._broker.neighbours.require(neighbour)
        return self._ports[neighbour]

    def _make_port(self, link: LinkConfig) -> None:
        self._ports[link.neighbour] = LinkPort(self._broker, self._config, link, self._service)

    def _dial(self, neighbour: BrokerId) -> None:
        self._dialling[neighbour] = asyncio.create_task(self._ports[neighbour].keep_open())

    async def _listen(self, local: str) -> None:
        links = _MOST_CHANGING_LINKS if self._broker.neighbours.change else len(self._config.links)
        limits = ServerLimits(largest_link_frame(self._config.limits), links + _STREAMS_WITHOUT_HELLO)
        server = RpcServer({LINK: functools.partial(self._serve_link, local)}, limits, self._report_refused)
        await server.listen(bind(local))
        self.servers[local] = server

    async def _serve_link(self, local: str, stream: ServedStream) -> None:
        await self._serve(self._accept(local, stream), f"link from {stream.peer}")

    async def _accept(self, local: str, stream: ServedStream) -> None:
        async with asyncio.timeout(MISSED_HEARTBEATS * self._config.limits.heartbeat):
            first = await stream.read()
        if first is None:
            raise StreamClosedError("closed without a hello")
        hello = decode_hello(first)
        port = self._ports.get(hello.broker)
        if port is None or port.local != local:
            raise RefusedError(f"{hello.broker!r} is no neighbour of {self._config.id!r} over {local}")
        await port.accept(stream, hello)


def _comes_from(peer: str, remote: str) -> bool:
    """True when a stream's address is that of a neighbour's end, as far as that can be told.

    It cannot where the end is given by a name, and on a loopback network, whose addresses are all this host's.
    """
    try:
        expected = ipaddress.ip_address(remote.rpartition(":")[0].strip("[]"))
        found = ipaddress.ip_address(peer.rpartition(":")[0].strip("[]"))
    except ValueError:
        return True
    return expected.is_loopback or expected == found
