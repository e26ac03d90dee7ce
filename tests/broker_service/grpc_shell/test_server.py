"""A broker process as its clients and its operator see it: what it carries, how it starts and ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import socket
import sys
import time
from pathlib import Path

import grpc
import msgspec
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from broker_service.client_library.client import Client, Session
from broker_service.client_library.client_requests import SessionLimits
from broker_service.config import Limits
from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from broker_service.grpc_shell.listening import CannotListenError
from broker_service.grpc_shell.server import BrokerServer, main
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
    deliver,
    events,
    quote,
    status,
    until,
)
from tests.broker_service.scripted import ALL, SCRIPTED, SCRIPTS, registered, script
from tests.ports import free_port


async def pace(address: str, request: pb.ServiceTime) -> pb.PaceReply:
    async with rpc.channel(address, MB) as channel:
        return await broker_pb2_grpc.BrokerControlStub(channel).Pace(request)


async def test_a_status_counts_the_timers_that_are_work(tmp_path: Path) -> None:
    with registered():
        async with Loopback(tmp_path) as overlay:
            server = await overlay.start("B1", protocol=SCRIPTED)
            handled = calls_of(server.broker.sessions, "handle")
            async with Session(overlay.address("B1")) as session:
                client = await session.client("P")
                await client.advertise("a", SCRIPTS)
                client.publish("p1", script("await:a:3600 await:b:3600 await:c:0.001 tick:d:3600 cancel:a"))
                ran_out = calls_of(server.broker._router, "timer")
                await until(handled, lambda _, requests: requests[0].id == "p1")
                await until(ran_out, lambda key: key == "c")
                assert (await status(overlay.address("B1"))).awaited_timers == 1


async def test_a_session_with_held_publications_is_not_read(tmp_path: Path) -> None:
    with registered():
        async with Loopback(tmp_path) as overlay:
            server = await overlay.start("B1", protocol=SCRIPTED)
            address = overlay.address("B1")
            async with Session(address, SessionLimits(batch=5)) as held, Session(address) as other:
                publisher, subscriber = await held.client("P"), await other.client("S")
                await publisher.advertise("a", SCRIPTS)
                kept = calls_of(server.broker.gate, "keep")
                publisher.publish("p0", script("hold:full"))
                for number in range(1, 100):
                    publisher.publish(f"p{number}", script("deliver"))
                await until(kept, lambda *_: True)
                await subscriber.subscribe("s", ALL)
                await subscriber.advertise("a", SCRIPTS)
                assert (await status(address)).held == 4, "the rest of the frame, because no further one is read"
                subscriber.publish("refused", script("refuse:enough"))
                await until(kept, lambda *_: True)
                server.broker.gate.open()
                async with asyncio.timeout(WITHIN):
                    assert [(await anext(subscriber)).id for _ in range(99)] == [f"p{n}" for n in range(1, 100)]
                await subscriber.unadvertise("a")
                assert subscriber.rejected == {"refused": "enough"}
                assert (await status(address)).held == 0


async def test_a_killed_broker_finds_what_its_router_stored(tmp_path: Path) -> None:
    with registered():
        overlay, settings = Loopback(tmp_path), {"protocol": SCRIPTED, "stored": str(tmp_path / "stored")}
        config = tmp_path / "broker.json"
        config.write_bytes(msgspec.json.encode(overlay.config("B1", **settings)))
        command = [sys.executable, "-m", "tests.broker_service.scripted", str(config)]
        process = await asyncio.create_subprocess_exec(*command)
        try:
            async with Session(overlay.address("B1")) as session:
                client = await session.client("P")
                await client.advertise("a", SCRIPTS)
                await client.subscribe("s", ALL)
                client.publish("p1", script("store:a:1 store:b:2 erase:a deliver"))
                await asyncio.wait_for(anext(client), WITHIN)
                process.kill()
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
        async with overlay:
            await overlay.start("B1", 2, **settings)
            assert json.loads((await status(overlay.address("B1"))).tables)["stored"] == {"b": "2"}


async def test_a_broker_is_told_how_fast_to_work(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.line("B1")
        server, address = overlay.servers["B1"], overlay.address("B1")
        async with Session(address) as session:
            client = await session.client("P")
            await pace(address, pb.ServiceTime(mean=3600))
            asked = asyncio.ensure_future(client.advertise("a", QUOTES))
            await until(calls_of(server._service, "submit"), lambda *_: True)
            assert (server._service.waiting, asked.done()) == (1, False)
            await pace(address, pb.ServiceTime())
            asked.cancel()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await pace(address, pb.ServiceTime(mean=-1))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "a time is 0 or more seconds" in (refused.value.details() or "")


async def test_a_publication_travels_a_line_of_three(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.line("B1", "B2", "B3")
        advertised = calls_of(overlay.servers["B3"].broker.neighbours, "receive")
        subscribed = calls_of(overlay.servers["B1"].broker.neighbours, "receive")
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
            assert [notification.id for notification in got] == [f"P:{n}" for n in range(1000)]
            assert {notification.hops for notification in got} == {2}
            assert got[7].publication.attributes == quote(8).attributes
            answer = await status(overlay.address("B3"))
            assert (answer.delivered, answer.clients, answer.log_lost, answer.malformed) == (1000, 1, 0, 0)
            assert [(link.neighbour, link.up) for link in answer.links] == [("B2", True)]
            assert json.loads(answer.tables)
    log = events(overlay.log("B2"))
    assert log[0]["event"] == "started"
    assert (log[-1]["event"], log[-1]["count"]) == ("stopped", 0)
    assert sum(record["event"] == "sent" and record["kind"] == "publish" for record in log) == 1000


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


# Starting


def run_main(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a broker prints when it cannot start."""
    assert main([str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert str(path) in lines[0]
    return lines[0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"incarnation": "first"}, "$.incarnation"),
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
        lines = run_main(path, capsys)
    assert address in lines
    assert "in use" in lines


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
        with pytest.raises(CannotListenError, match="not a socket"):
            await overlay.start("B1")
    assert (tmp_path / "B1.sock").read_text() == "precious"


# Ending


async def published_until_notified(publisher: Client, subscriber: Client) -> None:
    """Publishes again and again, because a subscription is confirmed before it has reached the publisher's broker."""
    async with asyncio.timeout(WITHIN):
        for number in itertools.count():
            publisher.publish(f"P:first-{number}", quote(1))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(anext(subscriber), 0.2)
                return


async def test_sigterm_passes_on_what_waits(tmp_path: Path) -> None:
    """The link stalls, so most publications wait in the first broker; it is asked to stop; the link works again."""
    count = 500
    async with Loopback(tmp_path, Limits(heartbeat=30.0, stop_within=WITHIN)) as overlay:
        port = free_port()
        async with Connection(port).open() as connection:
            overlay.link("B1", "B2", through=connection.port, port=port)
            second = await overlay.start("B2")
            ups = calls_of(second.broker.neighbours, "link_up")
            advertised = calls_of(second.broker.neighbours, "receive")
            (tmp_path / "B1.json").write_bytes(msgspec.json.encode(overlay.config("B1")))
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "broker_service", str(tmp_path / "B1.json"),
                cwd=Path(__file__).parents[3], stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            try:
                await until(ups, lambda *_: True)
                async with Session(overlay.address("B1")) as near, Session(overlay.address("B2")) as far:
                    publisher, subscriber = await near.client("P"), await far.client("S")
                    await publisher.advertise("a", QUOTES)
                    await until(advertised, lambda *_: True)
                    await subscriber.subscribe("s", STOCKS)
                    await published_until_notified(publisher, subscriber)
                    connection.stall()
                    for n in range(count):
                        publisher.publish(f"P:{n}", quote(1))
                    await publisher.advertise("b", QUOTES)  # confirmed when all before it is handled
                    process.send_signal(signal.SIGTERM)
                    connection.resume()
                    got = [""]
                    while got[-1] != f"P:{count - 1}":
                        got.append((await asyncio.wait_for(anext(subscriber), WITHIN)).id)
                    assert [id for id in got[1:] if not id.startswith("P:first")] == [f"P:{n}" for n in range(count)]
                    assert await asyncio.wait_for(process.wait(), WITHIN) == 0
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()
    log = events(overlay.log("B1"))
    assert (log[-1]["event"], log[-1]["count"]) == ("stopped", 0)
