"""The relay of client programs, with a real broker and programs in this process."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from broker_service.client_library.client import Session
from broker_service.client_library.client_requests import SessionLimits
from broker_service.language.content import encode_predicates
from broker_service.messages import ClientFrame, ClientRequest, Operation
from broker_service.transport.channel import dial
from broker_service.transport.methods import SESSION
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.wire import encode_client_frames, encode_first_frame
from emulation.drivers import program_relay
from emulation.drivers.instructions import Leave, Pause, Resume, Return, Start
from emulation.drivers.program_relay import ProgramEnd, ProgramRelay, RelayConfig
from emulation.drivers.site_end import SiteEnd
from emulation.drivers.status import Connecting, DriverStatus, Ready, Report, Told
from tests.broker_service.loopback import QUOTES, STOCK, STOCKS, WITHIN, Loopback, quote

QUICK = SessionLimits(reconnect_first=0.01, reconnect_last=0.05)


class Relayed:
    """A relay of the program S1, whose broker is B1."""

    def __init__(self, overlay: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.reports: asyncio.Queue[Report] = asyncio.Queue()
        self.log = overlay.log("programs")
        monkeypatch.setattr(ProgramEnd, "listener", lambda _: self.listener)
        monkeypatch.setattr(program_relay, "report", self.reports.put_nowait)
        site = SiteEnd("B1", overlay.address("B1"), 0)
        programs = {"S1": ProgramEnd(0, site)}
        self.relay = ProgramRelay(
            RelayConfig(name="programs", variant="base", log=str(self.log), programs=programs, message_bytes=1 << 16)
        )

    @asynccontextmanager
    async def open(self, *, begun: bool = True) -> AsyncIterator[Relayed]:
        await self.relay.open()
        assert await self.reported() == Connecting(connected=0, waiting=["S1"])
        if begun:
            self.begin()
        try:
            async with asyncio.timeout(WITHIN):
                yield self
        finally:
            await self.relay.close()

    def begin(self) -> None:
        self.relay.follow(Start(time.monotonic_ns()))

    async def reported(self) -> Report:
        """The next report but for those twice a second."""
        while isinstance(found := await self.reports.get(), DriverStatus):
            pass
        return found

    async def told(self) -> str:
        while not isinstance(found := await self.reported(), Told):
            pass
        return found.text

    def events(self) -> list[tuple[str, str | None]]:
        lines = map(json.loads, self.log.read_bytes().splitlines())
        return [(line["event"], line.get("id")) for line in lines if line["event"] not in ("lag", "started", "stopped")]


async def test_programs_begin_together_and_what_they_do_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        relayed = Relayed(overlay, monkeypatch)
        async with relayed.open(begun=False):
            session = Session(relayed.address)
            opening = asyncio.create_task(session.transport.open())
            assert await relayed.reported() == Connecting(connected=1, waiting=[])
            assert await relayed.reported() == Ready()
            assert not opening.done()
            relayed.begin()
            await opening
            client = await session.client("S1")
            await client.advertise("a", QUOTES)
            await client.subscribe("s", STOCKS)
            client.publish("p", quote(1.0))
            assert (await anext(client)).id == "p"
            await session.transport.close()
        assert relayed.events() == [
            ("link_up", None),
            *((event, id) for id, made in (("a", "advertise"), ("s", "subscribe")) for event in (made, "confirmed")),
            ("publish", "p"),
            ("notified", "p"),
            *(("unadvertise", "a"), ("unsubscribe", "s"), ("confirmed", "a"), ("confirmed", "s")),
            ("stream ended", None),
        ]
        assert relayed.relay.status.notified == 1


async def test_a_session_that_its_broker_ends_is_logged_and_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Loopback(tmp_path) as overlay:
        broker = await overlay.start("B1")
        relayed = Relayed(overlay, monkeypatch)
        async with relayed.open(), Session(relayed.address, QUICK) as session:
            client = await session.client("S1")
            await client.advertise("a", QUOTES)
            await client.subscribe("s", STOCKS)
            back = asyncio.Event()
            session.transport.on_up = back.set
            await overlay.stop("B1", broker)
            await overlay.start("B1", 2)
            await back.wait()
            client.publish("p", quote(1.0))
            assert (await anext(client)).id == "p"
        events = [event for event, _ in relayed.events()]
        assert events.count("link_up") == 2
        down = events.index("link_down")
        assert events[down + 1 : down + 5] == ["unadvertise", "unsubscribe", "confirmed", "confirmed"]
        assert events.count("subscribe") == 2
        assert events.count("stream ended") == 1


async def test_a_program_that_a_fault_ends_leaves_by_a_reset_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        relayed = Relayed(overlay, monkeypatch)
        async with relayed.open(), Session(relayed.address, QUICK) as session:
            client = await session.client("S1")
            await client.subscribe("s", STOCKS)
            down, back = asyncio.Event(), asyncio.Event()
            session.transport.on_down, session.transport.on_up = down.set, back.set
            relayed.relay.follow(Leave(("S1", "another")))
            await down.wait()
            call = await dial(relayed.address, SESSION, 1 << 20)
            with pytest.raises(RpcError, match="a fault has ended this program"):
                await call.read()
            assert not back.is_set()
            relayed.relay.follow(Return(("S1", "another")))
            await back.wait()
            await client.advertise("a", QUOTES)
            client.publish("p", quote(1.0))
            assert (await anext(client)).id == "p"
        assert [event for event, _ in relayed.events() if event != "confirmed"] == [
            "link_up", "subscribe", "unsubscribe", "stream ended",
            "link_up", "subscribe", "advertise", "publish", "notified", "unsubscribe", "unadvertise", "stream ended",
        ]  # fmt: skip


async def test_nothing_comes_to_a_program_that_is_frozen_and_nobody_blames_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_relay, "STALLED", 0)
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        relayed = Relayed(overlay, monkeypatch)
        async with relayed.open(), Session(relayed.address) as session, Session(overlay.address("B1")) as beside:
            client, publisher = await session.client("S1"), await beside.client("P1")
            await client.subscribe("s", STOCKS)
            await publisher.advertise("a", QUOTES)
            relayed.relay.follow(Pause(("S1",)))
            publisher.publish("p", quote(1.0))
            await publisher.unadvertise("a")  # answered once the broker has passed the publication on
            reported = [await relayed.reports.get() for _ in range(2)]
            assert not any(isinstance(each, Told) for each in reported)
            assert ("notified", "p") not in relayed.events()
            relayed.relay.follow(Resume(("S1",)))
            assert (await anext(client)).id == "p"


async def test_a_broker_that_cannot_be_reached_is_told_to_the_program_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unanswered(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(program_relay, "_DIAL_ATTEMPTS", 0)
    monkeypatch.setattr(program_relay, "dial", unanswered)
    async with Loopback(tmp_path) as overlay:
        relayed = Relayed(overlay, monkeypatch)
        async with relayed.open():
            call = await dial(relayed.address, SESSION, 1 << 20)
            with pytest.raises(RpcError, match="B1 does not answer"):
                await call.read()
            call.close()


async def test_nonsense_ends_the_stream_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        relayed = Relayed(overlay, monkeypatch)
        async with relayed.open():
            for _ in range(2):
                call = await dial(relayed.address, SESSION, 1 << 20)
                await call.read()
                await call.write(b"\xff\xff")
                with pytest.raises(RpcError, match="sent a frame that cannot be read") as raised:
                    await call.read()
                assert raised.value.code == StatusCode.INVALID_ARGUMENT
                call.close()
            assert "sent a frame that cannot be read" in await relayed.told()
            call = await dial(relayed.address, SESSION, 1 << 20)
            await call.read()
            await call.write(bytes(1 << 17))
            assert "sent a frame that is too large" in await relayed.told()
            call.close()


async def test_a_program_that_does_not_read_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_relay, "STALLED", 0)
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        relayed = Relayed(overlay, monkeypatch)
        async with relayed.open(), Session(overlay.address("B1")) as session:
            call = await dial(relayed.address, SESSION, 1 << 20)
            await call.read()
            subscription = ClientRequest("S1", 2, Operation.SUBSCRIBE, "s", encode_predicates((STOCK,)))
            await call.write(encode_first_frame(ClientFrame((), "a session")))
            for frame in encode_client_frames([ClientRequest("S1", 1, Operation.ATTACH), subscription], 1 << 16):
                await call.write(frame)
            await call.read()
            publisher = await session.client("P1")
            await publisher.advertise("a", QUOTES)
            for number in range(200):
                publisher.publish(f"p{number}", quote(1.0, "x" * 30_000))
            assert (await relayed.told()).startswith("has not read for ")
            call.close()
