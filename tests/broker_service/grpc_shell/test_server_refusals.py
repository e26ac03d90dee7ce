"""Frames and streams that a broker refuses: of clients, of strangers and of pretended neighbours."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import grpc
import pytest

from broker_service.client_library.client import Session
from broker_service.config import Limits
from broker_service.generated import broker_pb2 as pb
from broker_service.language.content import encode_predicates
from broker_service.links.frames import Hello, LinkFrame, MessageFrame
from broker_service.messages import ClientRequest, Kind, Message, Operation, Outcome
from broker_service.service import SLICE_MESSAGES
from broker_service.transport.channel import Call, dial
from broker_service.transport.server import MOST_IDLE
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.wire import (
    LONGEST_NAME,
    decode_broker_frame,
    decode_hello,
    encode_client_frames,
    encode_link_frame,
)
from record.service_time import ServiceTime
from tests.broker_service import grpcio as rpc
from tests.broker_service.loopback import (
    MB,
    QUOTES,
    STOCKS,
    WITHIN,
    Loopback,
    calls_of,
    deliver,
    events,
    quote,
    status,
    until,
)
from tests.ports import free_port

# What clients and strangers may send


async def test_a_frame_of_100_mb_ends_its_session_only(tmp_path: Path) -> None:
    """The announced length is enough to refuse it. While it writes, grpcio replaces the status by its own."""
    async with Loopback(tmp_path) as overlay, asyncio.timeout(WITHIN):
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as other:
            call = await dial(overlay.address("B1"), rpc.SESSION, MB)
            await call.read()  # the welcome
            assert call._connection.outgoing.send(call, struct.pack(">?L", False, 100 * MB) + b"begin") == 10
            with pytest.raises(RpcError, match=f"{100 * MB} bytes") as refused:
                await call.read()
            assert refused.value.code == StatusCode.RESOURCE_EXHAUSTED
            await deliver(other, other)
            call.close()


async def test_a_malformed_frame_is_refused_and_counted(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as other, rpc.channel(overlay.address("B1"), MB) as channel:
            call = rpc.dial(channel, rpc.SESSION)
            await call.read()  # the welcome
            await call.write(b"\xff no protobuf")
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call.read()
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert "malformed frame" in (refused.value.details() or "")
            assert (await status(overlay.address("B1"))).malformed == 1
            await deliver(other, other)


async def test_garbage_on_the_port_disturbs_nobody(tmp_path: Path) -> None:
    port = free_port()
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1", listen=(f"127.0.0.1:{port}",))
        async with Session(f"127.0.0.1:{port}") as other:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n" + bytes(range(256)) * 100)
            async with asyncio.timeout(WITHIN):
                await reader.read(-1)  # until the broker has closed it
            writer.close()
            await deliver(other, other)


async def test_a_client_that_does_not_read_its_answers_gets_the_others_on_its_next_stream(tmp_path: Path) -> None:
    long, count, batch = "x" * LONGEST_NAME, 4000, 100
    attach = ClientRequest(long, 0, Operation.ATTACH)
    rejected = [ClientRequest(long, number, Operation.PUBLISH, long) for number in range(1, count + 1)]
    answered: list[int] = []
    acknowledged = 0

    def frame_from(number: int) -> bytes:
        return encode_client_frames([attach, *rejected[number : number + batch]], MB)[0]

    async def read(call: Call, until: int) -> None:
        nonlocal acknowledged
        while len(answered) < until and (data := await call.read()) is not None:
            frame = decode_broker_frame(data)
            answered.extend(event.number for event in frame.events if event.outcome is Outcome.REJECTED)
            acknowledged = max(acknowledged, frame.acknowledged)

    async with Loopback(tmp_path, Limits(heartbeat=30, session_queue=500)) as overlay, asyncio.timeout(WITHIN):
        await overlay.start("B1")
        deaf = await dial(overlay.address("B1"), rpc.SESSION, MB)
        failed = calls_of(deaf, "fail")
        with suppress(RpcError):
            for number in range(0, count, batch):
                await deaf.write(frame_from(number))
        await failed.get()
        with pytest.raises(RpcError, match="does not read its answers") as ended:
            await read(deaf, count)
        assert ended.value.code == StatusCode.RESOURCE_EXHAUSTED
        assert acknowledged <= len(answered) < count
        reader = await dial(overlay.address("B1"), rpc.SESSION, MB)
        while (number := len(answered)) < count:
            await reader.write(frame_from(number))
            await read(reader, min(number + batch, count))
        reader.close()
    assert answered == list(range(1, count + 1))


async def test_a_client_that_does_not_read_loses_its_own_notifications_only(tmp_path: Path) -> None:
    async with Loopback(tmp_path, Limits(heartbeat=30, session_queue=50)) as overlay:
        server = await overlay.start("B1")
        handled = calls_of(server.broker.sessions, "handle")
        async with rpc.channel(overlay.address("B1"), MB) as channel, Session(overlay.address("B1")) as good:
            call = rpc.dial(channel, rpc.SESSION)
            await call.write(
                encode_client_frames(
                    [
                        ClientRequest("deaf", 1, Operation.ATTACH),
                        ClientRequest("deaf", 2, Operation.SUBSCRIBE, "s", encode_predicates(STOCKS.predicates)),
                    ],
                    MB,
                )[0]
            )
            await until(handled, lambda _session, requests: requests[-1].operation is Operation.SUBSCRIBE)
            publisher, subscriber = await good.client("P"), await good.client("S")
            await publisher.advertise("a", QUOTES)
            await subscriber.subscribe("s", STOCKS)
            for n in range(200):
                publisher.publish(f"P:{n}", quote(1, "x" * 100_000))
                async with asyncio.timeout(WITHIN):
                    assert (await anext(subscriber)).id == f"P:{n}"
            assert server.broker.clients == 3
    dropped = [record for record in events(overlay.log("B1")) if record["event"] == "dropped"]
    assert 0 < len(dropped) < 200
    assert {record["client"] for record in dropped} == {"deaf"}


async def test_connections_that_do_nothing_are_bounded_and_keep_nobody_away(tmp_path: Path) -> None:
    async with Loopback(tmp_path, Limits(heartbeat=30, sessions=2)) as overlay, AsyncExitStack() as stack:
        server = await overlay.start("B1")
        path = overlay.address("B1").removeprefix("unix:")
        async with Session(overlay.address("B1")) as session:
            most = server._servers[0].limits.streams + MOST_IDLE
            opened = [await asyncio.open_unix_connection(path) for _ in range(most + 40)]
            for _, writer in opened:
                stack.callback(writer.close)
            first = opened[0][0]
            async with asyncio.timeout(WITHIN):
                while await first.read(1 << 16):  # what the broker says before it closes the connection
                    pass
            assert len(server._servers[0]._connections) <= most
            await deliver(session, session)


async def test_sessions_beyond_the_limit_are_refused_and_what_watches_the_broker_is_not(tmp_path: Path) -> None:
    async with Loopback(tmp_path, Limits(heartbeat=30, sessions=2)) as overlay:
        server = await overlay.start("B1")
        address = overlay.address("B1")
        async with Session(address) as first:
            await first.client("A")
            async with Session(address) as second, rpc.channel(address, MB) as channel:
                await second.client("B")
                for _ in range(100):
                    with pytest.raises(grpc.aio.AioRpcError) as refused:
                        await rpc.dial(channel, rpc.SESSION).read()
                    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                    assert "2 sessions are open already (limits.sessions)" in (refused.value.details() or "")
                assert (await status(address)).clients == 2
                assert len(server._sessions) == 2
            async with Session(address) as third:
                await deliver(first, third)


async def test_a_slow_broker_reads_no_more_than_it_has_room_for(tmp_path: Path) -> None:
    """Clients may send faster than a broker with a service time serves; what it has no room for waits at the client."""
    frame, count = 60_000, 20
    async with Loopback(tmp_path, Limits(heartbeat=30, queue_bytes=2 * frame)) as overlay:
        server = await overlay.start("B1", service_time=ServiceTime(mean=0.005))
        handled, submitted = calls_of(server.broker.sessions, "handle"), calls_of(server._service, "submit")
        most = 0
        async with rpc.channel(overlay.address("B1"), MB) as channel:
            call = rpc.dial(channel, rpc.SESSION)
            for n in range(count):
                await call.write(
                    encode_client_frames([ClientRequest("P", n, Operation.ATTACH, "", bytes(frame))], MB)[0]
                )
            for _ in range(count):
                await until(submitted, lambda *_: True)
                most = max(most, server._service.waiting)
            for _ in range(count):
                await until(handled, lambda *_: True)
            call.cancel()
        assert 1 <= most <= 2
        assert not server._service._queue.full


@pytest.mark.parametrize("method", [rpc.SESSION, rpc.LINK])
async def test_a_stream_of_compressed_frames_is_refused_before_its_first(
    tmp_path: Path, method: tuple[str, str]
) -> None:
    """Because 400 kB may unpack to 400 MB, while the event loop waits."""
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        await overlay.start("B2")
        address = overlay.address("B2") if method == rpc.SESSION else f"127.0.0.1:{port}"
        async with grpc.aio.insecure_channel(address, compression=grpc.Compression.Gzip) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await rpc.dial(channel, method).read()
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert "'gzip' is disabled" in (refused.value.details() or "")


async def test_a_compressed_answer_is_refused_by_the_end_that_opened_the_stream(tmp_path: Path) -> None:
    async def answer(_requests: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        await context.write(bytes(MB // 2))

    server = grpc.aio.server(compression=grpc.Compression.Gzip)
    rpc.serve(server, rpc.SESSION, answer)
    server.add_insecure_port(f"unix:{tmp_path}/server.sock")
    await server.start()
    try:
        call = await dial(f"unix:{tmp_path}/server.sock", rpc.SESSION, MB)
        with pytest.raises(RpcError, match="'gzip' is disabled"):
            await call.read()
        call.close()
    finally:
        await server.stop(None)


async def test_a_flood_over_a_link_is_read_no_faster_than_it_is_handled(tmp_path: Path) -> None:
    """Beyond the window nothing is read before its own messages are handled, and others have their turn meanwhile."""
    frames, items = 5, 4000
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        server = await overlay.start("B2")
        session = server._links._ports["B1"]._session
        waiting: list[int] = []
        received, handled = calls_of(session, "received"), calls_of(server.broker.neighbours, "receive")
        take = session.received

        def note(stream: int, frame: LinkFrame, now: int) -> Sequence[Message]:
            waiting.append(session.unhandled)
            return take(stream, frame, now)

        session.received = note  # type: ignore[method-assign]
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel, Session(overlay.address("B2")) as honest:
            call = await greet(channel, incarnation=1)
            flood = encode_link_frame(MessageFrame([Message(Kind.CONTROL, "odd")] * items), MB)[0]
            for _ in range(frames):
                await call.write(flood)
            await until(received, lambda *_: True)
            await deliver(honest, honest)
            for _ in range(frames - 1):
                await until(received, lambda *_: True)
            sizes: list[int] = []
            while sum(sizes) < frames * items:
                await until(handled, lambda _neighbour, messages, _arrived: not sizes.append(len(messages)))  # type: ignore[func-returns-value]
            call.cancel()
        assert max(waiting) <= overlay.limits.window
        assert max(sizes) <= SLICE_MESSAGES


# Who may open a link


@pytest.mark.parametrize(
    ("hello", "code", "reason"),
    [
        (pb.Hello(broker="B9", incarnation=1, protocol="tid"), grpc.StatusCode.FAILED_PRECONDITION, "no neighbour"),
        (pb.Hello(broker="B1", incarnation=1, protocol="x"), grpc.StatusCode.FAILED_PRECONDITION, "routes by 'x'"),
        (pb.Hello(), grpc.StatusCode.INVALID_ARGUMENT, "a hello without the broker's name"),
        (pb.Hello(broker="B1", protocol="tid"), grpc.StatusCode.INVALID_ARGUMENT, "counts from 1"),
        (
            pb.Hello(broker="B1", incarnation=1, protocol="tid", neighbour_incarnation=1, handled=2**64 - 1),
            grpc.StatusCode.FAILED_PRECONDITION,
            "0 were sent",
        ),
    ],
)
async def test_a_stranger_gets_no_link(tmp_path: Path, hello: pb.Hello, code: grpc.StatusCode, reason: str) -> None:
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        server = await overlay.start("B2")
        ups = calls_of(server.broker.neighbours, "link_up")
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel:
            call = rpc.dial(channel, rpc.LINK)
            await call.write(pb.LinkFrame(hello=hello).SerializeToString())
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call.read()
                await call.read()  # whose hello is in order gets one back
        assert refused.value.code() is code
        assert reason in (refused.value.details() or "")
        assert ups.empty()
        assert not server.broker.links["B1"].up


def hello_of_first(incarnation: int = 1) -> bytes:
    return encode_link_frame(Hello(broker="B1", incarnation=incarnation, protocol="tid"), MB)[0]


async def greet(channel: grpc.aio.Channel, incarnation: int) -> grpc.aio.StreamStreamCall[bytes, bytes]:
    """A stream of B1 to B2, on which both have sent their hello."""
    call = rpc.dial(channel, rpc.LINK)
    await call.write(hello_of_first(incarnation))
    async with asyncio.timeout(WITHIN):
        assert decode_hello(await call.read()).broker == "B2"
    return call


async def test_silent_strangers_do_not_keep_a_neighbour_out(tmp_path: Path) -> None:
    """Half-open streams are refused beyond a number, and end when no hello comes."""
    async with Loopback(tmp_path, Limits(heartbeat=0.1)) as overlay:
        port = overlay.link("B1", "B2")
        await overlay.start("B2")
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel:
            codes = {await call.code() for call in [rpc.dial(channel, rpc.LINK) for _ in range(100)]}
            assert codes == {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.DEADLINE_EXCEEDED}
            call = await greet(channel, incarnation=1)
            call.cancel()


async def test_a_neighbour_that_has_ended_does_not_displace_the_one_that_came_after(tmp_path: Path) -> None:
    """A replayed hello of a former incarnation would have the link forget what waits, and start counting anew."""
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        server = await overlay.start("B2")
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel:
            call = await greet(channel, incarnation=2)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await greet(channel, incarnation=1)
            assert "its incarnation 1 has ended, 2 came after it" in (refused.value.details() or "")
            assert server.broker.links["B1"].up
            call.cancel()


async def test_a_storm_of_reconnections_ends_with_the_latest_stream(tmp_path: Path) -> None:
    """The neighbour gave all but the latest up; served in turn, each would last until its heartbeats are missed."""
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        server = await overlay.start("B2")
        ups, downs = calls_of(server.broker.neighbours, "link_up"), calls_of(server.broker.neighbours, "link_down")
        received = calls_of(server.broker.neighbours, "receive")
        async with AsyncExitStack() as stack:
            channels = [await stack.enter_async_context(rpc.channel(f"127.0.0.1:{port}", MB)) for _ in range(40)]
            accepted = calls_of(server._links._ports["B1"], "accept")
            async with server._links._ports["B1"]._free:  # as if a former stream was about to end
                hello = hello_of_first()
                calls = [rpc.dial(channel, rpc.LINK) for channel in channels]
                await asyncio.gather(*(call.write(hello) for call in calls))
                for _ in calls:
                    await until(accepted, lambda *_: True)
                last = rpc.dial(channels[0], rpc.LINK)
                await last.write(hello)
                await until(accepted, lambda *_: True)
            async with asyncio.timeout(WITHIN):
                assert decode_hello(await last.read()).broker == "B2"
                assert [await call.read() for call in calls] == [rpc.EOF] * len(calls)
            await last.write(encode_link_frame(MessageFrame([Message(Kind.CONTROL, "unreadable")]), MB)[0])
            await until(received, lambda *_: True)
            assert (ups.qsize(), downs.qsize()) == (1, 0)
            last.cancel()


async def test_a_neighbour_that_acknowledges_what_was_never_sent_is_refused(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        server = await overlay.start("B2")
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel:
            call = rpc.dial(channel, rpc.LINK)
            await call.write(hello_of_first())
            assert decode_hello(await call.read()).broker == "B2"
            await call.write(encode_link_frame(MessageFrame((), 7), MB)[0])
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call.read()
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert server.malformed == 1
        assert not server.broker.links["B1"].up
