"""A broker process as its clients and its operator see it: what it carries, what it refuses, how it starts and ends."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import msgspec
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from broker_service import rpc
from broker_service.client import Session
from broker_service.config import Limits
from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from broker_service.language.wire import encode_predicates
from broker_service.listening import CannotListenError
from broker_service.messages import ClientRequest, Kind, Message, Operation
from broker_service.server import BrokerServer, main
from broker_service.service_time import ServiceTime
from broker_service.wire import decode_hello, encode_client_frames, encode_hello, encode_link_frames
from tests.broker_service.loopback import (
    QUOTES,
    STOCKS,
    WITHIN,
    Connection,
    Loopback,
    calls_of,
    free_port,
    quote,
    until,
)

MB = 1 << 20


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


async def pace(address: str, request: pb.PaceRequest) -> pb.PaceReply:
    async with rpc.channel(address, MB) as channel:
        return await broker_pb2_grpc.BrokerControlStub(channel).Pace(request)


async def test_a_broker_is_told_how_fast_to_work(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.line("B1")
        server, address = overlay.servers["B1"], overlay.address("B1")
        async with Session(address) as session:
            client = await session.client("P")
            await pace(address, pb.PaceRequest(mean=3600))
            asked = asyncio.ensure_future(client.advertise("a", QUOTES))
            await until(calls_of(server._service, "submit"), lambda *_: True)
            assert (server._service.waiting, asked.done()) == (1, False)
            await pace(address, pb.PaceRequest())
            asked.cancel()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await pace(address, pb.PaceRequest(mean=-1))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "a service time is 0 or more seconds" in (refused.value.details() or "")


async def test_a_publication_travels_a_line_of_three(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.line("B1", "B2", "B3")
        advertised = calls_of(overlay.servers["B3"].broker, "receive")
        subscribed = calls_of(overlay.servers["B1"].broker, "receive")
        async with Session(overlay.address("B1")) as near, Session(overlay.address("B3")) as far:
            publisher, subscriber = await near.client("P"), await far.client("S")
            await publisher.advertise("a", QUOTES)
            await until(advertised, lambda *_: True)
            await subscriber.subscribe("s", STOCKS)
            await until(subscribed, lambda *_: True)
            for n in range(1000):
                publisher.publish(f"P:{n}", quote(n + 1))
            async with asyncio.timeout(WITHIN):
                got = [await anext(subscriber) for _ in range(1000)]
            assert [each.id for each in got] == [f"P:{n}" for n in range(1000)]
            assert {each.hops for each in got} == {2}
            assert got[7].publication.attributes == quote(8).attributes
            answer = await status(overlay.address("B3"))
            assert (answer.delivered, answer.clients, answer.log_lost, answer.malformed) == (1000, 1, 0, 0)
            assert [(link.neighbour, link.up) for link in answer.links] == [("B2", True)]
            assert json.loads(answer.tables)
    log = events(overlay.log("B2"))
    assert log[0]["event"] == "started"
    assert (log[-1]["event"], log[-1]["count"]) == ("stopped", 0)
    assert sum(each["event"] == "sent" and each["kind"] == "publish" for each in log) == 1000


async def test_health(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with rpc.channel(overlay.address("B1"), MB) as channel:
            answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_a_full_disk_costs_log_records_and_nothing_else(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        server = await overlay.start("B1", log="/dev/full")
        async with Session(overlay.address("B1")) as session:
            await deliver(session, session)
            server._trace.flush()
            assert (await status(overlay.address("B1"))).log_lost >= 4


async def test_service_time_delays_every_message(tmp_path: Path) -> None:
    """Three operations and a publication take four times the service time at least, one after another."""
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1", service_time=ServiceTime(mean=0.02))
        begin = time.monotonic()
        async with Session(overlay.address("B1")) as session:
            await deliver(session, session)
            assert time.monotonic() - begin >= 4 * 0.02


# What clients and strangers may send


async def test_a_frame_of_100_mb_ends_its_session_only(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as other, rpc.channel(overlay.address("B1"), MB) as channel:
            call = rpc.dial(channel, rpc.SESSION)
            await call.write(bytes(100 * MB))
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call.read()
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            await deliver(other, other)


async def test_a_malformed_frame_is_refused_and_counted(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as other, rpc.channel(overlay.address("B1"), MB) as channel:
            call = rpc.dial(channel, rpc.SESSION)
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


async def test_a_client_that_does_not_read_loses_its_own_notifications_only(tmp_path: Path) -> None:
    async with Loopback(tmp_path, Limits(heartbeat=30, session_queue=50)) as overlay:
        server = await overlay.start("B1")
        handled = calls_of(server.broker, "handle")
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
    dropped = [each for each in events(overlay.log("B1")) if each["event"] == "dropped"]
    assert 0 < len(dropped) < 200
    assert {each["client"] for each in dropped} == {"deaf"}


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
        handled, submitted = calls_of(server.broker, "handle"), calls_of(server._service, "submit")
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
        assert not server._service.full


# Who may open a link


@pytest.mark.parametrize(
    ("hello", "code", "reason"),
    [
        (pb.Hello(broker="B9", incarnation=1, protocol="tid"), grpc.StatusCode.FAILED_PRECONDITION, "no neighbour"),
        (pb.Hello(broker="B1", incarnation=1, protocol="x"), grpc.StatusCode.FAILED_PRECONDITION, "routes by 'x'"),
        (pb.Hello(), grpc.StatusCode.INVALID_ARGUMENT, "no hello"),
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
        ups = calls_of(server.broker, "link_up")
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel:
            call = rpc.dial(channel, rpc.LINK)
            await call.write(encode_hello(hello))
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call.read()
                await call.read()  # whose hello is in order gets one back
        assert refused.value.code() is code
        assert reason in (refused.value.details() or "")
        assert ups.empty()
        assert not server.broker.links["B1"].up


async def greet(channel: grpc.aio.Channel, incarnation: int) -> grpc.aio.StreamStreamCall[bytes, bytes]:
    """A stream of B1 to B2, on which both have said hello."""
    call = rpc.dial(channel, rpc.LINK)
    await call.write(encode_hello(pb.Hello(broker="B1", incarnation=incarnation, protocol="tid")))
    async with asyncio.timeout(WITHIN):
        assert decode_hello(await call.read()).broker == "B2"
    return call


async def test_strangers_who_say_nothing_do_not_keep_a_neighbour_out(tmp_path: Path) -> None:
    """Half-open streams are refused beyond a number, and end when no hello comes."""
    async with Loopback(tmp_path, Limits(heartbeat=0.1)) as overlay:
        port = overlay.link("B1", "B2")
        await overlay.start("B2")
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel:
            codes = {await call.code() for call in [rpc.dial(channel, rpc.LINK) for _ in range(200)]}
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
    """All but the latest are given up by the neighbour; had each its turn, it would last until found dead."""
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        server = await overlay.start("B2")
        ups, downs = calls_of(server.broker, "link_up"), calls_of(server.broker, "link_down")
        received = calls_of(server.broker, "receive")
        async with AsyncExitStack() as stack:
            channels = [await stack.enter_async_context(rpc.channel(f"127.0.0.1:{port}", MB)) for _ in range(40)]
            accepted = calls_of(server._ports["B1"], "accept")
            async with server._ports["B1"]._free:  # as if a former stream was about to end
                hello = encode_hello(pb.Hello(broker="B1", incarnation=1, protocol="tid"))
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
            await last.write(encode_link_frames([Message(Kind.CONTROL, "unreadable")], 0, MB)[0])
            await until(received, lambda *_: True)
            assert (ups.qsize(), downs.qsize()) == (1, 0)
            last.cancel()


async def test_a_neighbour_that_acknowledges_what_was_never_sent_is_refused(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        port = overlay.link("B1", "B2")
        server = await overlay.start("B2")
        async with rpc.channel(f"127.0.0.1:{port}", MB) as channel:
            call = rpc.dial(channel, rpc.LINK)
            await call.write(encode_hello(pb.Hello(broker="B1", incarnation=1, protocol="tid")))
            assert decode_hello(await call.read()).broker == "B2"
            await call.write(encode_link_frames([], 7, MB)[0])
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call.read()
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert server.malformed == 1
        assert not server.broker.links["B1"].up


# Starting


def run_main(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a broker says which cannot start."""
    assert main([str(path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1, said
    assert str(path) in said[0]
    return said[0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"incarnation": "first"}, "$.incarnation"),
        ({"colour": "red"}, "colour"),
        ({"limits": {"window": 1.5}}, "$.limits.window"),
        ({"limits": {"heartbeat": 0}}, "heartbeat: must be more than 0, not 0"),
        ({"limits": {"window": -1}}, "window: must be more than 0, not -1"),
        ({"protocol": "nosuch"}, "nosuch"),
        ({"options": {"publications": "sideways"}}, "publications"),
        ({"log": "/nosuch/directory/log"}, "/nosuch/directory/log"),
        ({"listen": ["/run/broker.sock"]}, "/run/broker.sock"),
        ({"listen": ["unix:/nosuch/directory/b"]}, "/nosuch/directory/b"),
        ({"listen": ["unix:/tmp/" + "x" * 110]}, "107"),
        ({"listen": ["192.0.2.1:7000"]}, "192.0.2.1:7000"),
    ],
)
def test_a_config_it_cannot_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], named: str
) -> None:
    path = tmp_path / "broker.json"
    path.write_text(json.dumps({"id": "B1", "incarnation": 1, "protocol": "tid", **change}))
    assert named in run_main(path, capsys)


def test_a_config_that_is_not_there_or_not_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broker.json"
    assert "No such file" in run_main(path, capsys)
    path.write_text("{")
    assert "truncated" in run_main(path, capsys)


def test_a_port_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broker.json"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        path.write_text(json.dumps({"id": "B1", "incarnation": 1, "protocol": "tid", "listen": [address]}))
        said = run_main(path, capsys)
    assert address in said
    assert "in use" in said


async def test_the_socket_of_a_killed_predecessor_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as predecessor:
        predecessor.bind(str(tmp_path / "B1.sock"))
        predecessor.listen()
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            await deliver(session, session)


async def test_the_socket_of_a_broker_that_lives_is_not(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        second = BrokerServer(overlay.config("B1", log=""))
        with pytest.raises(CannotListenError, match="another broker"):
            await second.start()
        async with Session(overlay.address("B1")) as session:
            await deliver(session, session)


async def test_a_file_where_the_socket_shall_be_is_kept(tmp_path: Path) -> None:
    (tmp_path / "B1.sock").write_text("precious")
    async with Loopback(tmp_path) as overlay:
        with pytest.raises(CannotListenError, match="no socket"):
            await overlay.start("B1")
    assert (tmp_path / "B1.sock").read_text() == "precious"


# Ending


async def test_sigterm_passes_on_what_waits(tmp_path: Path) -> None:
    """The link stalls, so most publications wait in the first broker; it is told to stop; then the link works again."""
    count = 500
    async with Loopback(tmp_path) as overlay:
        port = free_port()
        async with Connection(port).open() as connection:
            overlay.link("B1", "B2", through=connection.port, port=port)
            second = await overlay.start("B2")
            ups = calls_of(second.broker, "link_up")
            advertised = calls_of(second.broker, "receive")
            (tmp_path / "B1.json").write_bytes(msgspec.json.encode(overlay.config("B1")))
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "broker_service.server", str(tmp_path / "B1.json"),
                cwd=Path(__file__).parents[2], stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            try:
                await until(ups, lambda *_: True)
                async with Session(overlay.address("B1")) as near, Session(overlay.address("B2")) as far:
                    publisher, subscriber = await near.client("P"), await far.client("S")
                    await publisher.advertise("a", QUOTES)
                    await until(advertised, lambda *_: True)
                    await subscriber.subscribe("s", STOCKS)
                    publisher.publish("P:first", quote(1))
                    await asyncio.wait_for(anext(subscriber), WITHIN)
                    connection.stall()
                    for n in range(count):
                        publisher.publish(f"P:{n}", quote(1))
                    await publisher.advertise("b", QUOTES)  # confirmed when all before it is handled
                    process.send_signal(signal.SIGTERM)
                    connection.resume()
                    got = [(await asyncio.wait_for(anext(subscriber), WITHIN)).id for _ in range(count)]
                    assert got == [f"P:{n}" for n in range(count)]
                    assert await asyncio.wait_for(process.wait(), WITHIN) == 0
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()
    log = events(overlay.log("B1"))
    assert (log[-1]["event"], log[-1]["count"]) == ("stopped", 0)
