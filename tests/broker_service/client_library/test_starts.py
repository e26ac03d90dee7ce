"""Announced starts of subscriptions, from real brokers to programs, and through sessions that break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from broker_service.client_library.client import Client, Session
from broker_service.client_library.client_requests import ClientRequests, SessionLimits
from broker_service.client_library.starts import NotAnnouncedError, NotStandingError, Starts
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.notation import parse_composite
from broker_service.messages import BrokerFrame, ClientEvent, Operation, Outcome, Welcome
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.gryphon.overlay import RoutingTree
from record.time_units import SECOND
from tests.broker_service.loopback import QUOTES, STOCKS, WITHIN, Loopback, quote

RISING = CompositeSubscription(
    parse_composite("{[class,eq,'STOCK'],[price,<,5]}&{[class,eq,'STOCK'],[price,>,5]}"), within=60 * SECOND
)
PAIR = encode_header(RoutingTree((("B1",), ("B2",)), ((0, 1),)))


@asynccontextmanager
async def publisher_and_subscriber(directory: Path) -> AsyncIterator[tuple[Client, Client]]:
    """A publisher of quotes and a subscriber at two linked brokers, for a limited time."""
    async with Loopback(directory) as overlay:
        overlay.link("B1", "B2")
        for broker in ("B2", "B1"):
            await overlay.start(broker, protocol="gryphon", prepared=PAIR)
        await overlay.linked()
        async with Session(overlay.address("B1")) as here, Session(overlay.address("B2")) as there:
            publisher, subscriber = await there.client("P"), await here.client("S")
            await publisher.advertise("a", QUOTES)
            async with asyncio.timeout(WITHIN):
                yield publisher, subscriber


async def test_publications_of_any_broker_arrive_from_the_announced_start_on(tmp_path: Path) -> None:
    async with publisher_and_subscriber(tmp_path) as (publisher, subscriber):
        for number in range(5):
            await subscriber.subscribe("s", STOCKS)
            await subscriber.started("s")
            publisher.publish(f"P:{number}", quote(1))
            assert (await anext(subscriber)).id == f"P:{number}"
            await subscriber.subscribe("s", STOCKS)  # it stands, and has started
            await subscriber.started("s")
            await subscriber.unsubscribe("s")


async def test_sets_for_a_composite_subscription_are_detected_from_its_announced_start_on(tmp_path: Path) -> None:
    async with publisher_and_subscriber(tmp_path) as (publisher, subscriber):
        for number in range(5):
            await subscriber.subscribe("c", RISING)
            await subscriber.started("c")
            publisher.publish(f"L:{number}", quote(1))
            publisher.publish(f"H:{number}", quote(9))
            found = await anext(subscriber.detections)
            assert {each.id for each in found.publications} == {f"L:{number}", f"H:{number}"}
            await subscriber.subscribe("c", RISING)  # it stands, and has started
            await subscriber.started("c")
            await subscriber.unsubscribe("c")


async def test_waiting_for_a_start_ends_with_the_subscription(tmp_path: Path) -> None:
    """B2 is not there, and B1 announces nothing before a neighbour can be reached."""
    async with Loopback(tmp_path) as overlay:
        overlay.link("B1", "B2")
        await overlay.start("B1", protocol="gryphon", prepared=PAIR)
        async with Session(overlay.address("B1")) as session, asyncio.timeout(WITHIN):
            withdrawing, detaching, closing = [await session.client(name) for name in "WDC"]
            waits = []
            for client in (withdrawing, detaching, closing):
                await client.subscribe("s", STOCKS)
                waits.append(asyncio.ensure_future(client.started("s")))
            await asyncio.sleep(0)
            await withdrawing.unsubscribe("s")
            await ends(waits[0])
            await detaching.detach()
            await ends(waits[1])
            assert not waits[2].done()
        await ends(waits[2])
        await ends(asyncio.ensure_future(closing.started("s")))


async def ends(wait: asyncio.Future[None]) -> None:
    with pytest.raises(NotStandingError):
        await wait


async def test_most_protocols_announce_no_starts(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            client = await session.client("S")
            await client.subscribe("s", STOCKS)
            with pytest.raises(NotAnnouncedError):
                await client.started("s")


async def test_a_start_counts_for_one_session_and_one_subscription() -> None:
    starts = Starts()
    starts.begin("s")
    starts.announce("s")
    await starts.wait("s")
    for begin in (starts.begin_anew, lambda: starts.begin("s")):
        starts.announce("s")
        begin()
        waiting = asyncio.ensure_future(starts.wait("s"))
        await asyncio.sleep(0)
        assert not waiting.done()
        starts.announce("s")
        await waiting


async def test_a_start_that_is_announced_and_begins_anew_at_once_is_not_one() -> None:
    starts = Starts()
    starts.begin("s")
    waiting = asyncio.ensure_future(starts.wait("s"))
    await asyncio.sleep(0)
    starts.announce("s")
    starts.begin_anew()
    await asyncio.sleep(0)
    assert not waiting.done()
    starts.end_all()
    await ends(waiting)


def started(name: str) -> ClientEvent:
    return ClientEvent(Outcome.STARTED, ("S",), id=name)


def test_the_start_of_a_subscription_that_was_replaced_is_not_that_of_the_next_one() -> None:
    events: list[ClientEvent] = []
    requests = ClientRequests("B1", events.append, SessionLimits())
    requests.begin(Welcome(1, announces_starts=True))
    for operation in (Operation.ATTACH, Operation.SUBSCRIBE, Operation.UNSUBSCRIBE, Operation.SUBSCRIBE):
        requests.submit("S", operation, "s")

    def confirm(number: int) -> None:
        requests.receive(BrokerFrame([ClientEvent(Outcome.CONFIRMED, ("S",), number, "s")]))

    confirm(1)
    confirm(2)
    requests.receive(BrokerFrame([started("s")]))  # of the first subscription
    requests.receive(BrokerFrame([started("t")]))  # of none
    confirm(3)
    confirm(4)
    requests.receive(BrokerFrame([started("s")]))
    assert [event.outcome.name for event in events] == ["CONFIRMED"] * 4 + ["STARTED"]
