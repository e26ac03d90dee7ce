"""Real brokers and streams over loopback, in one event loop, and a connection in between that tests can break."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from broker_service.client_library.client import Session
from broker_service.config import BrokerConfig, Limits, LinkConfig
from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from broker_service.grpc_shell.server import BrokerServer
from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription
from record.service_time import ServiceTime
from tests.broker_service import grpcio as rpc
from tests.ports import free_port

WITHIN = 60.0
"""Seconds after which a test gives up; nothing is expected to take long."""

MB = 1 << 20

STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")
STOCKS = Subscription((STOCK,))
QUOTES = Advertisement((STOCK, Predicate("price", Operator.GREATER, 0), Predicate("text", Operator.STRING_PREFIX, "")))


def quote(price: float, text: str = "") -> Publication:
    """A publication that conforms to QUOTES and matches STOCKS, as large as its text."""
    return Publication({"class": "STOCK", "price": price, "text": text})


def calls_of(target: Any, name: str) -> asyncio.Queue[tuple[Any, ...]]:
    """A queue that gets the arguments of each later call of a method, which still does its work."""
    queue: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
    method = getattr(target, name)

    def called(*arguments: Any) -> Any:
        result = method(*arguments)
        queue.put_nowait(arguments)
        return result

    if hasattr(target, "__dict__"):
        setattr(target, name, called)
    else:  # an object with slots gets a class of its own
        kind = type(target)
        overriding = {"__slots__": (), name: lambda _, *arguments: called(*arguments)}
        target.__class__ = type(kind.__name__, (kind,), overriding)
    return queue


async def until(queue: asyncio.Queue[tuple[Any, ...]], wanted: Callable[..., bool]) -> tuple[Any, ...]:
    """The first of the calls that is wanted."""
    async with asyncio.timeout(WITHIN):
        while not wanted(*(arguments := await queue.get())):
            pass
    return arguments


async def status(address: str) -> pb.StatusReply:
    async with rpc.channel(address, MB) as channel:
        stub = broker_pb2_grpc.BrokerControlStub(channel)
        return await stub.Status(pb.StatusRequest(tables=True))


async def deliver(at: Session, to: Session, id: str = "P:1") -> None:
    """Has a fresh publisher and a fresh subscriber exchange a publication at one broker: it works."""
    publisher, subscriber = await at.client(f"publisher of {id}"), await to.client(f"subscriber to {id}")
    await publisher.advertise("a", QUOTES)
    await subscriber.subscribe("s", STOCKS)
    publisher.publish(id, quote(1))
    async with asyncio.timeout(WITHIN):
        assert (await anext(subscriber)).id == id


def events(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


class Loopback:
    """Brokers in a line or any other shape, made by hand. Enter it as an asynchronous context."""

    def __init__(self, directory: Path, limits: Limits | None = None) -> None:
        self.directory = directory
        self.limits = limits or Limits(heartbeat=30.0)
        self.servers: dict[str, BrokerServer] = {}
        self._links: dict[str, list[LinkConfig]] = {}
        self._exits = AsyncExitStack()

    async def __aenter__(self) -> Loopback:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()

    def address(self, broker: str) -> str:
        return f"unix:{self.directory}/{broker}.sock"

    def log(self, broker: str) -> Path:
        return self.directory / f"{broker}.jsonl"

    def link(
        self,
        a: str,
        b: str,
        through: int | None = None,
        port: int | None = None,
        send_time: ServiceTime = ServiceTime(),  # noqa: B008 - immutable
    ) -> int:
        """Joins two brokers not started yet; `a` dials, `through` a port that leads there. Returns `b`'s port."""
        port = port or free_port()
        listening, dialled = f"127.0.0.1:{port}", f"127.0.0.1:{through or port}"
        self._links.setdefault(a, []).append(
            LinkConfig(neighbour=b, local="", remote=dialled, dial=True, send_time=send_time)
        )
        self._links.setdefault(b, []).append(
            LinkConfig(neighbour=a, local=listening, remote="", dial=False, send_time=send_time)
        )
        return port

    def config(self, broker: str, incarnation: int = 1, **changes: Any) -> BrokerConfig:
        settings: dict[str, Any] = {
            "id": broker,
            "incarnation": incarnation,
            "protocol": "tid",
            "listen": (self.address(broker),),
            "links": tuple(self._links.get(broker, ())),
            "log": str(self.log(broker)),
            "limits": self.limits,
        }
        return BrokerConfig(**{**settings, **changes})

    async def start(self, broker: str, incarnation: int = 1, **changes: Any) -> BrokerServer:
        server = BrokerServer(self.config(broker, incarnation, **changes))
        await server.start()
        self.servers[broker] = server
        self._exits.push_async_callback(self.stop, broker, server)
        return server

    async def stop(self, broker: str, server: BrokerServer) -> None:
        if self.servers.get(broker) is server:
            del self.servers[broker]
            await server.stop()

    async def line(self, *brokers: str) -> None:
        """Starts brokers joined one after another, and waits until all links are up."""
        for a, b in itertools.pairwise(brokers):
            self.link(a, b)
        for broker in reversed(brokers):
            await self.start(broker)
        await self.linked()

    async def linked(self) -> None:
        """Returns when every link of every broker is up."""
        for server in self.servers.values():
            ups = calls_of(server.broker.neighbours, "link_up")
            while not all(link.up for link in server.broker.links.values()):
                await until(ups, lambda *_: True)


class Connection:
    """A listening port that passes bytes on to another one until it is stopped or cut."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self.stalled = asyncio.Event()
        self._target = target
        self._writers: list[asyncio.StreamWriter] = []
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._passed = 0
        self._cut_after: int | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Connection]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.resume()
            server.close()
            self.cut()

    def cut(self) -> None:
        """Breaks every connection there is; new ones work."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def cut_after(self, bytes: int) -> None:
        """Breaks every connection once this many more bytes went through, wherever that is in a frame."""
        self._passed, self._cut_after = 0, bytes

    def stall(self) -> None:
        """Passes nothing on any more, as if the other end was unplugged."""
        self._flowing.clear()

    def resume(self) -> None:
        self._flowing.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers += [writer, onward_writer]
        await asyncio.gather(self._pass(reader, onward_writer), self._pass(onward_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self._flowing.wait()
                self._passed += len(data)
                if self._cut_after is not None and self._passed > self._cut_after:
                    writer.write(data[: max(0, len(data) - (self._passed - self._cut_after))])
                    self._cut_after = None
                    self.cut()
                    return
                writer.write(data)
                await writer.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            writer.close()
