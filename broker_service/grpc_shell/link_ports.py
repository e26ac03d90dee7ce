"""All overlay links of a broker process: their ports, and the addresses on which neighbours' streams come in.

A broker listens once on each address, and a stream's hello says which link it belongs to. Links that are added while
the broker runs may use an address that it listens on already or another one.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.core.broker import Broker
from broker_service.grpc_shell.link_port import LinkPort, largest_link_frame
from broker_service.grpc_shell.listening import bind
from broker_service.grpc_shell.service import Service
from broker_service.links.greeting import RefusedError
from broker_service.links.session import MISSED_HEARTBEATS
from broker_service.messages import BrokerId
from broker_service.transport.duplex import StreamClosedError
from broker_service.transport.methods import LINK
from broker_service.transport.server import RpcServer, ServedStream, ServerLimits
from broker_service.transport.wire import decode_hello

_STREAMS_WITHOUT_HELLO = 64
"""Streams on an address besides those of known links. Further ones are refused with RESOURCE_EXHAUSTED."""
_MOST_CHANGING_LINKS = 10_000
"""Links over one address of a broker whose neighbours change."""

ServeStream = Callable[[Coroutine[Any, Any, None], str], Awaitable[None]]
"""Runs what serves a stream of this name. Raises `RpcError` if that fails."""


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
