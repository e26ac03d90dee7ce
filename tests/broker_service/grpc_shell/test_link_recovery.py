"""Links that break and come back: nothing lost and nothing doubled between brokers that keep running."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker_service.client_library.client import Client, Session
from broker_service.config import Limits
from broker_service.grpc_shell.server import BrokerServer
from broker_service.links.frames import Hello, MessageFrame
from broker_service.links.session import MISSED_HEARTBEATS
from broker_service.messages import Kind, Message
from broker_service.transport.wire import decode_hello, encode_link_frame
from record.service_time import ServiceTime
from tests.broker_service import grpcio as rpc
from tests.broker_service.loopback import (
    MB,
    QUOTES,
    STOCKS,
    WITHIN,
    Connection,
    Loopback,
    calls_of,
    quote,
    until,
)
from tests.ports import free_port

SOURCE = Path(__file__).parents[3]


class Pair:
    """Two brokers joined through a connection that tests can break, a publisher at one, a subscriber at the other."""

    def __init__(self, overlay: Loopback, connection: Connection, first: BrokerServer, second: BrokerServer) -> None:
        self.overlay = overlay
        self.connection = connection
        self.first = first
        self.second = second
        self.ups = [calls_of(server.broker.neighbours, "link_up") for server in (first, second)]
        self.downs = [calls_of(server.broker.neighbours, "link_down") for server in (first, second)]

    async def up(self) -> None:
        for queue in self.ups:
            await until(queue, lambda *_: True)

    async def down(self) -> None:
        for queue in self.downs:
            await until(queue, lambda *_: True)

    async def clients(self, near: Session, far: Session) -> tuple[Client, Client]:
        """A publisher and a subscriber who have found each other."""
        publisher, subscriber = await near.client("P"), await far.client("S")
        at_second = calls_of(self.second.broker.neighbours, "receive")
        at_first = calls_of(self.first.broker.neighbours, "receive")
        await publisher.advertise("a", QUOTES)
        await until(at_second, lambda *_: True)
        await subscriber.subscribe("s", STOCKS)
        await until(at_first, lambda *_: True)
        return publisher, subscriber


@asynccontextmanager
async def pair(directory: Path, limits: Limits) -> AsyncIterator[Pair]:
    port = free_port()
    async with Loopback(directory, limits) as overlay, Connection(port).open() as connection:
        overlay.link("B1", "B2", through=connection.port, port=port)
        second = BrokerServer(overlay.config("B2"))
        first = BrokerServer(overlay.config("B1"))
        both = Pair(overlay, connection, first, second)
        try:
            await second.start()
            await first.start()
            await both.up()
            yield both
        finally:
            await first.stop()
            await second.stop()


def frames_at(server: BrokerServer) -> asyncio.Queue[tuple[Any, ...]]:
    """A queue that gets every later frame of the only link of a broker."""
    (port,) = server._links
    return calls_of(port._session, "received")


async def test_both_ends_measure_the_round_trip_and_repeat_it_at_every_beat(tmp_path: Path) -> None:
    async with pair(tmp_path, Limits(heartbeat=0.05)) as both:
        first, second = both.first.broker.links["B2"], both.second.broker.links["B1"]
        beats = frames_at(both.first)
        while first.round_trip is None or second.round_trip is None:
            await until(beats, lambda *_: True)
        first.round_trip = second.round_trip = 1000.0
        while first.round_trip == 1000.0 or second.round_trip == 1000.0:
            await until(beats, lambda *_: True)
        assert min(first.round_trip, second.round_trip) > 0
        assert max(first.round_trip, second.round_trip) < WITHIN


@pytest.mark.parametrize("cut_after", [1_000, 7_001, 20_011])
async def test_cut_connections_lose_and_double_nothing(tmp_path: Path, cut_after: int) -> None:
    """The connection breaks again and again at arbitrary bytes, in the middle of frames and of acknowledgements."""
    count, cuts = 3000, 5
    async with (
        pair(tmp_path, Limits(heartbeat=30, window=32, reconnect_first=0.001)) as both,
        Session(both.overlay.address("B1")) as near,
        Session(both.overlay.address("B2")) as far,
    ):
        publisher, subscriber = await both.clients(near, far)
        broken = calls_of(both.first.broker.neighbours, "link_down")

        async def cut() -> None:
            for _ in range(cuts):
                both.connection.cut_after(cut_after)
                await both.down()
                await both.up()

        cutting = asyncio.create_task(cut())
        got = []
        for n in range(count):
            publisher.publish(f"P:{n}", quote(n + 1))
        async with asyncio.timeout(WITHIN):
            while len(got) < count:
                got.append((await anext(subscriber)).id)
        cutting.cancel()
        publisher.publish("P:last", quote(1))
        async with asyncio.timeout(WITHIN):
            got.append((await anext(subscriber)).id)
        assert got == [*(f"P:{n}" for n in range(count)), "P:last"]
        assert broken.qsize() >= 2


async def test_the_link_to_a_silent_neighbour_is_down_until_it_sends_again(tmp_path: Path) -> None:
    limits = Limits(heartbeat=0.05, reconnect_first=0.01, reconnect_last=0.05)
    async with (
        pair(tmp_path, limits) as both,
        Session(both.overlay.address("B1")) as near,
        Session(both.overlay.address("B2")) as far,
    ):
        publisher, subscriber = await both.clients(near, far)
        both.connection.stall()
        await both.down()
        assert not both.first.broker.links["B2"].up
        publisher.publish("P:1", quote(1))
        both.connection.resume()
        await both.up()
        async with asyncio.timeout(WITHIN):
            assert (await anext(subscriber)).id == "P:1"


async def test_heartbeats_keep_a_quiet_link_up(tmp_path: Path) -> None:
    async with pair(tmp_path, Limits(heartbeat=0.2)) as both:
        frames = frames_at(both.second)
        for _ in range(MISSED_HEARTBEATS + 2):
            await until(frames, lambda *_: True)
        assert both.downs[0].empty()
        assert both.downs[1].empty()


async def test_a_killed_neighbour_comes_back_with_a_new_incarnation(tmp_path: Path) -> None:
    async with Loopback(tmp_path, Limits(heartbeat=30, reconnect_first=0.01, reconnect_last=0.1)) as overlay:
        overlay.link("B1", "B2")
        first = BrokerServer(overlay.config("B1"))
        ups, downs = calls_of(first.broker.neighbours, "link_up"), calls_of(first.broker.neighbours, "link_down")
        received = calls_of(first.broker.neighbours, "receive")
        await first.start()

        async def start(incarnation: int) -> asyncio.subprocess.Process:
            path = tmp_path / f"B2-{incarnation}.json"
            path.write_bytes(msgspec.json.encode(overlay.config("B2", incarnation)))
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "broker_service",
                str(path),
                cwd=SOURCE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await until(ups, lambda _neighbour, known, _handled: known == incarnation)
            return process

        process = await start(1)
        try:
            async with Session(overlay.address("B1")) as near, Session(overlay.address("B2")) as far:
                publisher, subscriber = await near.client("P"), await far.client("S")
                await publisher.advertise("a", QUOTES)
                await subscriber.subscribe("s", STOCKS)
                await until(received, lambda *_: True)
                publisher.publish("P:1", quote(1))
                async with asyncio.timeout(WITHIN):
                    assert (await anext(subscriber)).id == "P:1"
                process.kill()
                await until(downs, lambda *_: True)
                await process.wait()
                while not received.empty():
                    received.get_nowait()
                process = await start(2)
                await until(
                    received,
                    lambda _neighbour, messages, _arrived: any(
                        message.kind.word == "subscribe" for message in messages
                    ),
                )
                publisher.publish("P:2", quote(1))
                async with asyncio.timeout(WITHIN):
                    assert (await anext(subscriber)).id == "P:2"
                assert far.connections == 2
        finally:
            process.kill()
            await process.wait()
            await first.stop()


async def test_messages_of_a_stream_that_has_ended_are_handled_on_the_next_one_only(tmp_path: Path) -> None:
    """They wait for service when the neighbour opens another stream, on which it sends them again."""
    count = 6
    messages = [Message(Kind.CONTROL, f"m{number}") for number in range(count)]
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        server = await overlay.start("B2", service_time=ServiceTime(mean=0.2))
        submitted, handled = calls_of(server._service, "submit"), calls_of(server.broker.neighbours, "receive")
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel:
            for _ in range(2):
                call = rpc.dial(channel, rpc.LINK)
                greeting = Hello(broker="B1", incarnation=1, protocol="tid")
                await call.write(encode_link_frame(greeting, MB)[0])
                answer = decode_hello(await call.read())
                if rest := messages[answer.handled :]:  # none on a host so busy that the neighbour opens it too late
                    await call.write(encode_link_frame(MessageFrame(rest), MB)[0])
                    await until(submitted, lambda *_: True)
            while server._service.waiting:
                await server._service.progress()
            call.cancel()
    ids = [message.id for _ in range(handled.qsize()) for message in handled.get_nowait()[1]]
    assert ids == [message.id for message in messages]
