"""A neighbour's stream whose messages lead to backlogs on the links behind the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from broker_service.config import Limits
from broker_service.grpc_shell import streams
from broker_service.grpc_shell.service import Service
from broker_service.grpc_shell.streams import LinkStream
from broker_service.links.backlog import MOST_WAITING
from broker_service.links.frames import Hello, MessageFrame
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.session import LinkSession
from broker_service.messages import BrokerId, Kind, Message
from broker_service.service import ServiceQueue
from broker_service.tracing.trace import Recorder
from broker_service.transport.wire import encode_link_frame
from tests.broker_service.overlay import ListTrace
from tests.broker_service.transport.test_duplex import QueueStream

LIMITS = Limits(heartbeat=30)
FRAMES, ITEMS = 20, 64
TURNS = 500
"""Turns of the event loop in which everything is handled that does not wait."""


class Relay:
    """A broker that passes everything on over one link, to a neighbour that takes nothing by itself."""

    id, incarnation = "B2", 1

    def __init__(self) -> None:
        recorder = Recorder(ListTrace("B2"), lambda: 0)
        self.links = {name: OverlayLink(name, LIMITS, lambda: 0, recorder) for name in ("B1", "B3")}
        self.behind = self.links["B3"]
        self.behind.connect(1, 0)
        self.handled = 0

    def receive(self, neighbour: BrokerId, messages: Sequence[Message], arrived: int | None) -> None:
        for message in messages:
            self.behind.put(message)
        self.handled += len(messages)

    def link_up(self, neighbour: BrokerId, incarnation: int, handled: int) -> None: ...

    def link_down(self, neighbour: BrokerId) -> None: ...


@asynccontextmanager
async def neighbour_of(relay: Relay) -> AsyncIterator[QueueStream]:
    """The stream of the neighbour B1, which has been greeted.

    Time stands still, so that the broker handles whole slices, also on a machine that interrupts it.
    """
    stream, service = QueueStream(), Service(ServiceQueue(None), lambda: 0)
    session = LinkSession(relay, relay.links["B1"], "tid", LIMITS, None)
    number = session.accept(Hello(broker="B1", incarnation=1, protocol="tid"), 0)
    running = asyncio.create_task(
        LinkStream(stream, session, number, service, LIMITS, links=relay.links).run()  # type: ignore[arg-type]
    )
    await turns(5)
    try:
        yield stream
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        service.close()


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def frames(kind: Kind, items: int = ITEMS) -> list[bytes]:
    return encode_link_frame(MessageFrame([Message(kind, "m")] * items), 1 << 20) * FRAMES


@pytest.mark.parametrize("items", [ITEMS, 20 * ITEMS])
async def test_control_messages_wait_for_the_backlog_that_they_lead_to(
    items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "LOOK_AFTER", 0)
    monkeypatch.setattr(streams, "LOOKS", 1_000_000)
    relay = Relay()
    async with neighbour_of(relay) as stream:
        stream.waiting += frames(Kind.CONTROL, items)
        stream.on_arrival()
        await turns(TURNS)
        assert MOST_WAITING < relay.behind.others_waiting <= MOST_WAITING + ITEMS
        while relay.handled < FRAMES * items:
            taken = relay.behind.take()
            relay.behind.retransmission.acknowledge(relay.behind.sent)
            await turns(20)
            assert taken, "the neighbour waits though there is no backlog"
            assert relay.behind.others_waiting <= MOST_WAITING + ITEMS


async def test_they_wait_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LOOK_AFTER", 0)
    relay = Relay()
    async with neighbour_of(relay) as stream:
        stream.waiting += frames(Kind.CONTROL)
        stream.on_arrival()
        await turns(TURNS)
        assert relay.handled == FRAMES * ITEMS


@pytest.mark.parametrize(("kind", "up"), [(Kind.PUBLISH, True), (Kind.CONTROL, False)])
async def test_publications_wait_for_nothing_and_no_message_for_a_link_that_is_down(
    kind: Kind, up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "LOOKS", 1_000_000)
    relay = Relay()
    for _ in range(2 * MOST_WAITING):
        relay.behind.put(Message(Kind.CONTROL, "m"))
    if not up:
        relay.behind.disconnect()
    async with neighbour_of(relay) as stream:
        stream.waiting += frames(kind)
        stream.on_arrival()
        await turns(TURNS)
        assert relay.handled == FRAMES * ITEMS
