"""The client library against a real broker."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from broker_service.client_library.client import (
    REJECTIONS_KEPT,
    Client,
    LostRange,
    RejectedError,
    Session,
    SessionPlace,
)
from broker_service.client_library.client_requests import SessionFullError, SessionLimits, TooLargeError
from broker_service.client_library.client_session import ClientSession, ConnectError
from broker_service.config import Limits
from broker_service.language import Operator, Predicate, Subscription
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.language.notation import parse_composite
from broker_service.messages import ClientEvent, ConstituentPublication, Operation, Outcome, StreamPosition
from tests.broker_service.loopback import (
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

CHEAP = Subscription((*STOCKS.predicates, Predicate("price", Operator.LESS, 10)))


async def test_operations_are_confirmed_and_notifications_iterated(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            publisher, subscriber = await session.client("P"), await session.client("S")
            await publisher.advertise("a", QUOTES)
            await subscriber.subscribe("s", CHEAP)
            for n in range(20):
                publisher.publish(f"P:{n}", quote(n + 1))
            await subscriber.unsubscribe("s")  # confirmed after everything before it
            publisher.publish("P:20", quote(1))
            await subscriber.detach()
            got = [notification async for notification in subscriber]
        assert [notification.id for notification in got] == [f"P:{n}" for n in range(9)]
        assert got[3].publication == quote(4)
        assert got[3].hops == 0


async def test_what_a_broker_refuses(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            client = await session.client("P")
            with pytest.raises(RejectedError, match="no subscription 's'"):
                await client.unsubscribe("s")
            with pytest.raises(RejectedError, match="no advertisement 'a'"):
                await client.unadvertise("a")
            client.publish("P:1", quote(1))
            await client.advertise("a", QUOTES)
            assert list(client.rejected) == ["P:1"]
            assert "conforms to no advertisement" in client.rejected["P:1"]
            await client.unadvertise("a")


async def test_a_client_whose_session_another_one_takes_over_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Loopback(tmp_path) as overlay:
        broker = await overlay.start("B1")
        former, other = (ClientSession(overlay.address("B1"), lambda _: None) for _ in range(2))
        other._name = former._name
        down: asyncio.Queue[None] = asyncio.Queue()
        former.on_down = lambda: down.put_nowait(None)
        named = calls_of(broker.broker.sessions, "name")
        await former.open(WITHIN)
        await until(named, lambda *_: True)
        await other.open(WITHIN)
        await until(named, lambda *_: True)
        former.submit("C", Operation.ATTACH)
        async with asyncio.timeout(WITHIN):
            await down.get()
            assert former._task is not None
            await former._task  # opens no stream that would take the session back
        assert "another stream has taken over this session" in caplog.text
        assert other.connections == 1
        await asyncio.gather(former.close(), other.close())


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "not yet open"])
async def test_a_session_that_another_one_succeeds_opens_no_further_stream(tmp_path: Path, is_open: bool) -> None:
    """A stream that is opened later under the name of another one would take its clients away from that."""
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        former, session = (ClientSession(overlay.address("B1"), lambda _: None) for _ in range(2))
        if is_open:
            await former.open()
        else:
            former.address = f"unix:{tmp_path}/none"
            former.restart()
        opening = former._task
        assert opening is not None
        session.succeed(former)
        await session.open()
        former.break_stream()
        await asyncio.wait((opening,), timeout=WITHIN)
        assert opening.done()
        assert former.connections == is_open
        await former.close()
        await session.close()


async def test_a_publication_too_large_is_refused_before_it_travels(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            client = await session.client("P")
            await client.advertise("a", QUOTES)
            await client.subscribe("s", STOCKS)
            with pytest.raises(
                TooLargeError, match=r"'P:1' of client 'P' has 100\d+ bytes; brokers take at most 1048576"
            ):
                client.publish("P:1", quote(1, "x" * 100_000_000))
            with pytest.raises(TooLargeError, match="a name has more than the 256 characters"):
                client.publish("P" * 257, quote(1))
            client.publish("P:2", quote(1, "x" * 1_000_000))
            async with asyncio.timeout(WITHIN):
                assert (await anext(client)).id == "P:2"
        assert session.connections == 1


async def test_nobody_answers(tmp_path: Path) -> None:
    session = ClientSession(f"unix:{tmp_path}/none", lambda event: None)
    with pytest.raises(ConnectError, match="none"):
        await session.open(within=0.1)


PAIR = CompositeSubscription(parse_composite("{[class,eq,'STOCK'],[price,<,10]}&{[class,eq,'STOCK'],[price,>,90]}"))


async def test_detections_are_iterated_with_their_publications(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            publisher, subscriber = await session.client("P"), await session.client("S")
            await publisher.advertise("a", QUOTES)
            await subscriber.subscribe("pair", PAIR)
            for n, price in enumerate((100, 50, 1, 2)):
                publisher.publish(f"P:{n}", quote(price))
            await subscriber.subscribe("pair", CHEAP)  # confirmed after everything before it, and in place of the pair
            publisher.publish("P:4", quote(3))
            await subscriber.unsubscribe("pair")
            await subscriber.detach()
            detections = [detection async for detection in subscriber.detections]
            notifications = [notification.id async for notification in subscriber]
        ids = [[constituent.id for constituent in detection.publications] for detection in detections]
        assert ids == [["P:0", "P:2"], ["P:0", "P:3"]]
        assert [constituent.publication for constituent in detections[1].publications] == [quote(100), quote(2)]
        assert {detection.id for detection in detections} == {"pair"}
        assert notifications == ["P:4"]


async def test_a_composite_that_the_broker_refuses(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1", limits=Limits(declared_bytes=1))
        async with Session(overlay.address("B1")) as session:
            client = await session.client("S")
            with pytest.raises(RejectedError, match="no room"):
                await client.subscribe("pair", PAIR)


async def test_a_session_that_breaks_says_everything_again(tmp_path: Path) -> None:
    port = free_port()
    async with Loopback(tmp_path) as overlay, Connection(port).open() as connection:
        server = await overlay.start("B1", listen=(f"127.0.0.1:{port}", overlay.address("B1")))
        limits = SessionLimits(reconnect_first=0.001)
        async with (
            Session(overlay.address("B1")) as steady,
            Session(f"127.0.0.1:{connection.port}", limits) as broken,
        ):
            publisher = await steady.client("P")
            await publisher.advertise("a", QUOTES)
            subscriber = await broken.client("S")
            await subscriber.subscribe("kept", STOCKS)
            await subscriber.subscribe("pair", PAIR)
            await subscriber.subscribe("taken back", CHEAP)
            await subscriber.unsubscribe("taken back")
            await subscriber.advertise("b", QUOTES)
            for round in range(1, 4):
                connection.cut()
                await subscriber.subscribe(f"after {round}", CHEAP)  # confirmed on the new stream, after what stood
                publisher.publish(f"P:{round}", quote(100))
                async with asyncio.timeout(WITHIN):
                    assert (await anext(subscriber)).id == f"P:{round}"
            subscriber.publish("S:1", quote(100))
            async with asyncio.timeout(WITHIN):
                assert (await anext(subscriber)).id == "S:1"
            assert broken.connections >= 4
            client = server.broker._actions.clients["S"]
            assert set(client.subscriptions) == {"kept", "pair", "after 1", "after 2", "after 3"}
            assert client.subscriptions["pair"].content == PAIR
            assert set(client.advertisements) == {"b"}


@pytest.mark.parametrize("cut_after", [0, 700, 2_500, 6_000])
async def test_a_publication_is_routed_once_wherever_its_session_breaks(tmp_path: Path, cut_after: int) -> None:
    port = free_port()
    async with Loopback(tmp_path) as overlay, Connection(port).open() as connection:
        server = await overlay.start("B1", listen=(f"127.0.0.1:{port}", overlay.address("B1")))
        async with (
            Session(overlay.address("B1")) as steady,
            Session(f"127.0.0.1:{connection.port}", SessionLimits(reconnect_first=0.001, batch=5)) as broken,
        ):
            subscriber, publisher = await steady.client("S"), await broken.client("P")
            await subscriber.subscribe("s", STOCKS)
            await publisher.advertise("a", QUOTES)
            connection.cut_after(cut_after)
            for number in range(100):
                publisher.publish(f"P:{number}", quote(1))
            async with asyncio.timeout(WITHIN):
                got = [(await anext(subscriber)).id for _ in range(100)]
            assert got == [f"P:{number}" for number in range(100)]
            await publisher.unadvertise("a")
            assert broken.connections == 2
            assert server.broker.sessions.published == 100


async def test_publications_are_acknowledged_without_events(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            publisher = await session.client("P")
            await publisher.advertise("a", QUOTES)
            requests = session.transport._requests
            acknowledged = calls_of(requests, "acknowledge")
            for number in range(3):
                publisher.publish(f"P:{number}", quote(1))
            await until(acknowledged, lambda number: number == 5)
            assert not requests._unacknowledged


async def test_an_operation_that_was_under_way_is_answered_once(tmp_path: Path) -> None:
    port = free_port()
    events: list[ClientEvent] = []
    async with Loopback(tmp_path) as overlay, Connection(port).open() as connection:
        await overlay.start("B1", listen=(f"127.0.0.1:{port}",))
        done = asyncio.Event()

        def on_event(event: ClientEvent) -> None:
            events.append(event)
            if event.number == last:
                done.set()

        last = 0
        session = ClientSession(f"127.0.0.1:{connection.port}", on_event, SessionLimits(reconnect_first=0.001))
        await session.open()
        try:
            connection.stall()
            body = encode_predicates(STOCKS.predicates)
            numbers = [session.submit("S", Operation.ATTACH), session.submit("S", Operation.SUBSCRIBE, "s", body)]
            numbers.append(session.submit("S", Operation.UNSUBSCRIBE, "s"))
            connection.cut()
            connection.resume()
            last = session.submit("S", Operation.SUBSCRIBE, "t", body)
            await asyncio.wait_for(done.wait(), WITHIN)
        finally:
            await session.close()
    assert sorted(event.number for event in events) == [*numbers, last]
    assert {event.outcome for event in events} == {Outcome.CONFIRMED}


async def test_publications_beyond_the_queue_are_refused(tmp_path: Path) -> None:
    session = ClientSession(f"unix:{tmp_path}/none", lambda event: None, SessionLimits(queue=3))
    for n in range(3):
        session.submit("P", Operation.PUBLISH, f"P:{n}")
    with pytest.raises(SessionFullError, match="3 operations wait"):
        session.submit("P", Operation.PUBLISH, "P:3")
    session.submit("P", Operation.SUBSCRIBE, "s")
    assert session.waiting == 4


async def test_ten_thousand_clients_share_a_session(tmp_path: Path) -> None:
    count = 10_000
    confirmed = 0
    notified: set[str] = set()
    finished = asyncio.Event()

    def on_event(event: ClientEvent) -> None:
        nonlocal confirmed
        if event.outcome is Outcome.NOTIFIED:
            notified.update(event.clients)
        else:
            assert event.outcome is Outcome.CONFIRMED, event.reason
            confirmed += 1
        if confirmed == 2 * count + 2 and len(notified) == count:
            finished.set()

    async with Loopback(tmp_path) as overlay:
        server = await overlay.start("B1")
        session = ClientSession(overlay.address("B1"), on_event)
        await session.open()
        try:
            session.submit("P", Operation.ATTACH)
            session.submit("P", Operation.ADVERTISE, "a", encode_predicates(QUOTES.predicates))
            body = encode_predicates(STOCKS.predicates)
            for n in range(count):
                session.submit(f"S{n}", Operation.ATTACH)
                session.submit(f"S{n}", Operation.SUBSCRIBE, "s", body)
            session.submit("P", Operation.PUBLISH, "P:1", encode_publication(quote(1)))
            await asyncio.wait_for(finished.wait(), 60)
            assert server.broker.clients == count + 1
        finally:
            await session.close()


@pytest.mark.parametrize(
    "event",
    [
        ClientEvent(Outcome.NOTIFIED, ("S",), id="P:1", body=b"\xff no content"),
        ClientEvent(Outcome.NOTIFIED, ("nobody",), id="P:1", body=b""),
        ClientEvent(
            Outcome.NOTIFIED, ("S",), id="c", publications=(ConstituentPublication("P:1", b"\xff no content"),)
        ),
    ],
)
async def test_content_that_cannot_be_read_costs_its_notification_only(tmp_path: Path, event: ClientEvent) -> None:
    """Brokers pass content on unread, so a publisher could otherwise end the sessions of subscribers."""
    async with Loopback(tmp_path) as overlay:
        server = await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            client = await session.client("S")
            await client.advertise("a", QUOTES)
            await client.subscribe("s", STOCKS)
            (stream,) = server._sessions
            assert not stream.session.put(event)
            client.publish("P:2", quote(1))
            assert (await asyncio.wait_for(anext(client), WITHIN)).id == "P:2"
            assert (session.connections, session.malformed) == (1, 1)


async def test_a_lost_range_comes_with_the_notification_behind_it(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        server = await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            client = await session.client("S")
            await client.advertise("a", QUOTES)
            await client.subscribe("s", STOCKS)
            (stream,) = server._sessions
            client.publish("P:1", quote(1))
            assert (await asyncio.wait_for(anext(client), WITHIN)).lost_before == ()
            assert not stream.session.put(ClientEvent(Outcome.LOST, ("S",), 9, position=StreamPosition("B1", 4)))
            client.publish("P:2", quote(1))
            lost = LostRange("B1", 4, 9)
            assert (await asyncio.wait_for(anext(client), WITHIN)).lost_before == (lost,)
            assert list(client.lost) == [lost]


@pytest.mark.parametrize("frame", [b"\xff no protobuf"])
async def test_a_frame_of_a_broker_that_cannot_be_read_costs_the_stream_and_not_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame: bytes
) -> None:
    async with Loopback(tmp_path) as overlay:
        server = await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            client = await session.client("S")
            (stream,) = server._sessions
            ends = calls_of(stream, "end")
            monkeypatch.setattr(stream, "next_frames", lambda: [frame])
            stream.wake()
            await until(ends, lambda *_: True)
            await client.subscribe("s", STOCKS)
            assert session.connections == 2


async def test_a_callback_that_fails_costs_the_stream_and_not_the_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    handled: asyncio.Queue[ClientEvent] = asyncio.Queue()

    def handle(event: ClientEvent) -> None:
        handled.put_nowait(event)
        if handled.qsize() == 1:
            raise LookupError("a defect of the callback")

    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        session = ClientSession(overlay.address("B1"), handle)
        await session.open()
        ups: asyncio.Queue[None] = asyncio.Queue()
        session.on_up = lambda: ups.put_nowait(None)
        session.submit("S", Operation.ATTACH)
        await asyncio.wait_for(ups.get(), WITHIN)
        number = session.submit("S", Operation.SUBSCRIBE, "s", encode_predicates(STOCKS.predicates))
        async with asyncio.timeout(WITHIN):
            while (await handled.get()).number != number:
                pass
        await session.close()
    assert "an event could not be handled" in caplog.text
    assert "a defect of the callback" in caplog.text


def test_a_client_keeps_the_latest_rejections_only() -> None:
    client = Client("P", Session("unix:/nowhere"))
    for number in range(REJECTIONS_KEPT + 2):
        client.refuse(f"P:{number}", "why")
    assert len(client.rejected) == REJECTIONS_KEPT
    assert next(iter(client.rejected)) == "P:2"


async def test_notifications_are_numbered_over_all_streams_and_acknowledged_on_their_own(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            client = await session.client("C")
            await client.advertise("a", QUOTES)
            await client.subscribe("s", STOCKS)
            got = []
            for publication in ("p1", "p2", "p3"):
                if publication == "p3":
                    back = asyncio.Event()
                    session.transport.on_up = back.set
                    session.transport.break_stream()
                    await back.wait()
                    session.acknowledge(got[-1])
                client.publish(publication, quote(1))
                got.append(await anext(client))
                session.acknowledge(got[-1])
            assert [each.place for each in got] == [SessionPlace(1, 1), SessionPlace(2, 1), SessionPlace(3, 2)]
            await client.unsubscribe("s")
            assert session.connections == 2


async def test_what_was_not_sent_cannot_be_acknowledged(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        broker = await overlay.start("B1")
        async with Session(overlay.address("B1")) as session:
            down = asyncio.Event()
            session.transport.on_down = down.set
            session.transport.acknowledge(1)
            await down.wait()
        assert broker.malformed == 1
