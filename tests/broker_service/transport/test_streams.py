"""Streams over real sockets: between brokerlab's own ends, and between each of them and gRPC's own library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from broker_service.grpc_shell.listening import bind
from broker_service.transport.channel import dial
from broker_service.transport.methods import LINK, SESSION
from broker_service.transport.server import Handler, RpcServer, ServedStream, ServerLimits
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.stream import STREAM_WINDOW
from tests.broker_service import grpcio
from tests.broker_service.loopback import WITHIN, calls_of, until

MB = 1 << 20
SIZES = (0, 1, 16_384, 70_000, 3 * MB)
"""Lengths of messages: around HTTP/2's smallest largest frame, its first window, and the window of a stream."""
LIMITS = ServerLimits(largest=4 * MB, streams=3)


@asynccontextmanager
async def serving(directory: Path, handler: Handler, limits: ServerLimits = LIMITS) -> AsyncIterator[str]:
    """The address of a server that serves `SESSION`."""
    address = f"unix:{directory}/server.sock"
    server = RpcServer({SESSION: handler}, limits, lambda name, reason: None)
    await server.listen(bind(address))
    try:
        yield address
    finally:
        await server.stop()


async def echo(stream: ServedStream) -> None:
    """Sends back what comes."""
    while (message := await stream.read()) is not None:
        await stream.write(message)


async def exchange(address: str) -> list[bytes]:
    """Answers to messages of all sizes, with reading beside writing."""
    call = await dial(address, SESSION, 4 * MB)

    async def write() -> None:
        for size in SIZES:
            await call.write(bytes([size % 251]) * size)
        call.done_writing()

    writing = asyncio.create_task(write())
    messages = []
    while (message := await call.read()) is not None:
        messages.append(message)
    await writing
    call.close()
    return messages


async def exchange_by_library(address: str) -> list[bytes]:
    """Answers to messages of all sizes, exchanged by gRPC's own library."""
    async with grpcio.channel(address, 4 * MB) as channel:
        call = grpcio.dial(channel, SESSION)
        messages = []
        for size in SIZES:
            await call.write(bytes([size % 251]) * size)
            messages.append(await call.read())
        await call.done_writing()
        assert await call.read() is grpcio.EOF
        assert await call.code() is grpc.StatusCode.OK
    return messages


@pytest.mark.parametrize("client", [exchange, exchange_by_library])
async def test_messages_of_any_size_travel_both_ways(
    tmp_path: Path, client: Callable[[str], Awaitable[list[bytes]]]
) -> None:
    async with serving(tmp_path, echo) as address, asyncio.timeout(WITHIN):
        assert [len(message) for message in await client(address)] == list(SIZES)


async def test_a_server_of_the_library_answers(tmp_path: Path) -> None:
    async def echo_by_library(_requests: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        while (message := await context.read()) is not grpcio.EOF:
            await context.write(message)

    server = grpc.aio.server(options=(("grpc.max_receive_message_length", 4 * MB),))
    grpcio.serve(server, SESSION, echo_by_library)
    server.add_insecure_port(f"unix:{tmp_path}/server.sock")
    await server.start()
    try:
        async with asyncio.timeout(WITHIN):
            assert [len(message) for message in await exchange(f"unix:{tmp_path}/server.sock")] == list(SIZES)
    finally:
        await server.stop(None)


async def test_a_sender_waits_for_a_reader_and_other_streams_of_its_connection_do_not(tmp_path: Path) -> None:
    frame, count = 100_000, 25
    read_on = asyncio.Event()
    begun: asyncio.Queue[ServedStream] = asyncio.Queue()
    got: list[bytes] = []

    async def handler(stream: ServedStream) -> None:
        first = await stream.read()
        if first == b"quick":
            await stream.write(b"done")
            return
        begun.put_nowait(stream)
        await read_on.wait()
        while (message := await stream.read()) is not None:
            got.append(message)

    async with (
        serving(tmp_path, handler) as address,
        grpcio.channel(address, MB) as channel,
        asyncio.timeout(WITHIN),
    ):
        call = grpcio.dial(channel, SESSION)

        async def write() -> None:
            await call.write(b"slow")
            for _ in range(count):
                await call.write(bytes(frame))
            await call.done_writing()

        writing = asyncio.create_task(write())
        stream = await begun.get()
        received = calls_of(stream, "receive")
        await until(received, lambda *_: stream._consumed > STREAM_WINDOW - frame)
        other = grpcio.dial(channel, SESSION)
        await other.write(b"quick")
        assert await other.read() == b"done"
        assert not writing.done()
        assert stream._consumed <= STREAM_WINDOW
        read_on.set()
        await writing
        assert await call.read() is grpcio.EOF
        assert [len(message) for message in got] == [frame] * count


async def test_a_status_reaches_the_caller(tmp_path: Path) -> None:
    async def refuse(stream: ServedStream) -> None:
        if await stream.read() == b"late":
            await stream.write(b"first")
        raise RpcError(StatusCode.FAILED_PRECONDITION, "100 % größer\n")

    async with serving(tmp_path, refuse) as address, grpcio.channel(address, MB) as channel:
        for message, answers in ((b"early", 0), (b"late", 1)):
            call = await dial(address, SESSION, MB)
            await call.write(message)
            for _ in range(answers):
                assert await call.read() == b"first"
            with pytest.raises(RpcError, match="100 % größer\n") as refused:
                await call.read()
            assert refused.value.code == StatusCode.FAILED_PRECONDITION
            with pytest.raises(RpcError):
                await call.write(b"more")
            call.close()
            other = grpcio.dial(channel, SESSION)
            await other.write(message)
            for _ in range(answers):
                assert await other.read() == b"first"
            assert await other.code() is grpc.StatusCode.FAILED_PRECONDITION
            assert await other.details() == "100 % größer\n"


async def test_a_handler_that_fails_ends_its_stream_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(stream: ServedStream) -> None:
        if await stream.read() == b"bad":
            raise KeyError("secret")
        await echo(stream)

    async with serving(tmp_path, fail) as address:
        good, bad = [await dial(address, SESSION, MB) for _ in range(2)]
        await bad.write(b"bad")
        with pytest.raises(RpcError, match=r"^internal error$"):
            await bad.read()
        await good.write(b"good")
        await good.write(b"echoed")
        assert await good.read() == b"echoed"
        good.close()
        bad.close()
    assert "KeyError: 'secret'" in caplog.text


async def test_what_is_not_served_is_refused_with_a_reason(tmp_path: Path) -> None:
    async with serving(tmp_path, echo) as address:
        stranger = await dial(address, LINK, MB)
        with pytest.raises(RpcError, match="no method /brokerlab") as refused:
            await stranger.read()
        assert refused.value.code == StatusCode.UNIMPLEMENTED
        stranger.close()
        calls = [await dial(address, SESSION, MB) for _ in range(LIMITS.streams)]
        for call in calls:
            await call.write(b"open")
            await call.read()
        async with grpcio.channel(address, MB) as channel:
            for _ in range(5):
                assert await grpcio.dial(channel, SESSION).code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        for call in calls:
            call.close()


async def test_a_caller_that_goes_cancels_what_serves_it(tmp_path: Path) -> None:
    cancelled: asyncio.Queue[str] = asyncio.Queue()

    async def handler(stream: ServedStream) -> None:
        await stream.write(b"begun")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.put_nowait(str(stream.error))

    async with serving(tmp_path, handler) as address, asyncio.timeout(WITHIN):
        call = await dial(address, SESSION, MB)
        await call.read()
        call.close()
        assert "reset the stream" in await cancelled.get()
        lost = await dial(address, SESSION, MB)
        await lost.read()
        transport = lost._connection._transport
        assert transport is not None
        transport.abort()
        assert await cancelled.get() == "the connection is lost"


async def test_a_server_that_stops_lets_streams_end_and_breaks_the_others(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/server.sock"
    server = RpcServer({SESSION: echo}, LIMITS, lambda name, reason: None)
    await server.listen(bind(address))
    ending, lasting = [await dial(address, SESSION, MB) for _ in range(2)]
    for call in (ending, lasting):
        await call.write(b"x")
        await call.read()
    stopping = asyncio.create_task(server.stop(within=0.05))
    ending.done_writing()
    async with asyncio.timeout(WITHIN):
        assert await ending.read() is None
        with pytest.raises(RpcError, match="the server stops"):
            await lasting.read()
        await stopping
    assert not (tmp_path / "server.sock").exists()
    with pytest.raises(RpcError, match="cannot connect") as refused:
        await dial(address, SESSION, MB)
    assert refused.value.code == StatusCode.UNAVAILABLE
