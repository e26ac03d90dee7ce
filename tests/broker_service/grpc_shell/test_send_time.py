"""Links of broker processes on which sending takes time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import accumulate
from pathlib import Path

from broker_service.client_library.client import Client, Session
from broker_service.config import Limits
from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from record.service_time import Distribution, ServiceTime
from record.time_units import SECOND
from tests.broker_service import grpcio as rpc
from tests.broker_service.loopback import MB, QUOTES, STOCKS, WITHIN, Loopback, calls_of, events, quote, until

CALLS = ServiceTime(mean=0.003, distribution=Distribution.EXPONENTIAL)
IDS = [f"P:{number}" for number in range(60)]
LIMITS = Limits(heartbeat=30, reconnect_first=0.01, reconnect_last=0.05)


async def test_messages_leave_one_after_the_other_each_after_its_drawn_time(tmp_path: Path) -> None:
    async with Loopback(tmp_path, LIMITS) as overlay:
        async with linked_pair(overlay) as (publisher, subscriber):
            for id in IDS:
                publisher.publish(id, quote(1))
            assert await notified(subscriber, len(IDS)) == IDS
        config = overlay.config("B1")
    draw = config.send_times("B2", 1, CALLS)
    assert draw is not None
    kinds = [(record["kind"], record["time"]) for record in events(overlay.log("B1")) if record["event"] == "sent"]
    assert [kind for kind, _ in kinds[:-1]] == ["advertise", *("publish" for _ in IDS)], "at last it is withdrawn"
    begins = [int(str(time)) for _, time in kinds[1:-1]]
    times = [draw() for _ in kinds][1:]
    earliest = accumulate(times, initial=begins[0])
    early = [allowed - begin for allowed, begin in zip(earliest, begins, strict=False)]
    assert max(early) < 0.001 * SECOND, "no sending begins before all before it have ended"


async def test_a_stream_that_is_reset_amid_sending_loses_and_doubles_nothing(tmp_path: Path) -> None:
    async with Loopback(tmp_path, LIMITS) as overlay, linked_pair(overlay) as (publisher, subscriber):
        for id in IDS:
            publisher.publish(id, quote(1))
        got = await notified(subscriber, 10)
        async with rpc.channel(overlay.address("B1"), MB) as channel:
            await broker_pb2_grpc.BrokerControlStub(channel).Reset(pb.ResetRequest(neighbour="B2"))
        assert got + await notified(subscriber, len(IDS) - 10) == IDS


@asynccontextmanager
async def linked_pair(overlay: Loopback) -> AsyncIterator[tuple[Client, Client]]:
    """A publisher at B1 and a subscriber at B2, which sends to it."""
    overlay.link("B1", "B2", send_time=CALLS)
    for broker in ("B2", "B1"):
        await overlay.start(broker)
    await overlay.linked()
    advertised = calls_of(overlay.servers["B2"].broker.neighbours, "receive")
    subscribed = calls_of(overlay.servers["B1"].broker.neighbours, "receive")
    async with Session(overlay.address("B1")) as near, Session(overlay.address("B2")) as far:
        publisher, subscriber = await near.client("P"), await far.client("S")
        await publisher.advertise("a", QUOTES)
        await until(advertised, lambda *_: True)
        await subscriber.subscribe("s", STOCKS)
        await until(subscribed, lambda *_: True)
        yield publisher, subscriber


async def notified(subscriber: Client, count: int) -> list[str]:
    async with asyncio.timeout(WITHIN):
        return [(await anext(subscriber)).id for _ in range(count)]
