"""Links of broker processes that appear, vanish and are reset on request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import msgspec
import pytest

from broker_service.config import Limits, LinkConfig
from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import Kind, Message
from broker_service.routing.interface import Send
from record.log import Event
from tests.broker_service import grpcio as rpc
from tests.broker_service.loopback import MB, WITHIN, Loopback, calls_of, events, until
from tests.broker_service.obedient import OBEDIENT, ObedientRouter, registered
from tests.ports import free_port

LIMITS = Limits(heartbeat=30, reconnect_first=0.01, reconnect_last=0.05)


Request = pb.LinksRequest | pb.ResetRequest | pb.DisturbRequest | pb.SendTimeRequest


class Pair:
    """The brokers B1 and B2, which are not linked."""

    def __init__(self, overlay: Loopback, routers: dict[str, ObedientRouter]) -> None:
        self.overlay = overlay
        self.routers = routers
        self.happened: asyncio.Queue[tuple[object, ...]] = asyncio.Queue()
        """Gets an entry for each call of a router that tests wait for."""
        port = free_port()
        self.ends = {
            "B1": {"neighbour": "B2", "local": "", "remote": f"127.0.0.1:{port}", "dial": True},
            "B2": {"neighbour": "B1", "local": f"127.0.0.1:{port}", "remote": "", "dial": False},
        }

    async def add(self, broker: str, appearance: int = 1, send_time: pb.ServiceTime | None = None) -> None:
        link = msgspec.convert({**self.ends[broker], "appearance": appearance, "attributes": {"x": 1}}, LinkConfig)
        end = pb.LinkEnd(
            neighbour=link.neighbour, local=link.local, remote=link.remote, dial=link.dial,
            attributes=msgspec.json.encode(link.attributes).decode(), appearance=link.appearance,
            send_time=send_time,
        )  # fmt: skip
        await self.ask(broker, pb.LinksRequest(add=[end]))

    async def remove(self, broker: str) -> None:
        await self.ask(broker, pb.LinksRequest(remove=[self.ends[broker]["neighbour"]]))

    async def ask(self, broker: str, request: Request) -> None:
        async with rpc.channel(self.overlay.address(broker), MB) as channel:
            stub = broker_pb2_grpc.BrokerControlStub(channel)
            methods = {
                pb.LinksRequest: stub.Links,
                pb.ResetRequest: stub.Reset,
                pb.DisturbRequest: stub.Disturb,
                pb.SendTimeRequest: stub.SendTime,
            }
            await methods[type(request)](request)

    async def called(self, broker: str, name: str) -> None:
        """Returns when the router of a broker has been called so once more than at the last time."""
        calls = self.routers[broker].calls
        async with asyncio.timeout(WITHIN):
            while name not in [call for call, _ in calls]:
                await until(self.happened, lambda *_: True)
        del calls[: [call for call, _ in calls].index(name) + 1]

    async def start(self) -> None:
        for broker in self.ends:
            await self.overlay.start(broker, protocol=OBEDIENT)
            for name in ("link_up", "link_down", "neighbour_added", "neighbour_removed", "receive"):
                self.routers[broker].answers[name] = lambda: self.happened.put_nowait(()) or ()


@asynccontextmanager
async def pair(directory: Path) -> AsyncIterator[Pair]:
    with registered() as routers:
        async with Loopback(directory, LIMITS) as overlay:
            made = Pair(overlay, routers)
            await made.start()
            yield made


async def test_a_link_appears_carries_messages_vanishes_and_appears_again(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        first = both.overlay.servers["B1"].broker
        for appearance in (1, 2, 3):
            await both.add("B1", appearance)
            await both.add("B2", appearance)
            for broker in ("B1", "B2"):
                await both.called(broker, "link_up")
            assert first.links["B2"].attributes == {"x": 1}
            first._actions.perform([Send("B2", Message(Kind.CONTROL, str(appearance)))])
            await both.called("B2", "receive")
            first._actions.perform([Send("B2", Message(Kind.CONTROL, "in flight")) for _ in range(3)])
            await both.remove("B1")
            assert dict(first.links) == {}
            await both.called("B2", "link_down")
            await both.remove("B2")
        assert [message.id for message in both.routers["B2"].messages if message.id != "in flight"] == ["1", "2", "3"]
    log = events(tmp_path / "B1.jsonl")
    assert [record["count"] for record in log if record["event"] == Event.LINK_ADDED] == [1, 2, 3]
    assert [record["count"] for record in log if record["event"] == Event.LINK_REMOVED] == [1, 2, 3]
    assert {record.get("text") for record in log if record["event"] == Event.DROPPED} <= {"link vanished"}


async def test_a_link_appears_with_its_send_time(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        await both.add("B1", send_time=pb.ServiceTime(mean=0.25))
        await both.add("B2")
        first, second = (both.overlay.servers[broker].broker for broker in ("B1", "B2"))
        assert send_time(first.links["B2"]) == 250_000_000
        assert second.links["B1"].sending is None


async def test_a_link_gets_another_send_time(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        for broker in ("B1", "B2"):
            await both.add(broker)
        await both.called("B1", "link_up")
        first = both.overlay.servers["B1"].broker
        await both.ask("B1", pb.SendTimeRequest(neighbour="B2", send_time=pb.ServiceTime(mean=0.001)))
        assert send_time(first.links["B2"]) == 1_000_000
        messages = [Message(Kind.CONTROL, str(number)) for number in range(5)]
        first._actions.perform([Send("B2", message) for message in messages])
        assert first.links["B2"].queue_length > 0, "they leave one after the other"
        while len(both.routers["B2"].messages) < len(messages):
            await both.called("B2", "receive")
        await both.ask("B1", pb.SendTimeRequest(neighbour="B2"))
        first._actions.perform([Send("B2", Message(Kind.CONTROL, "last"))])
        while len(both.routers["B2"].messages) < len(messages) + 1:
            await both.called("B2", "receive")
        assert first.links["B2"].sending is None
        assert [message.id for message in both.routers["B2"].messages] == ["0", "1", "2", "3", "4", "last"]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (pb.SendTimeRequest(neighbour="B9"), "B1 and B9 are not linked"),
        (pb.SendTimeRequest(neighbour="B2", send_time=pb.ServiceTime(mean=-1)), "a time is 0 or more seconds"),
    ],
)
async def test_an_impossible_send_time_is_refused(tmp_path: Path, request_: pb.SendTimeRequest, reason: str) -> None:
    async with pair(tmp_path) as both:
        await both.add("B1")
        with pytest.raises(grpc.aio.AioRpcError, match=reason):
            await both.ask("B1", request_)


def send_time(link: OverlayLink) -> int:
    """The next draw of a link's send time, in nanoseconds."""
    assert link.sending is not None and link.sending.draw is not None
    return link.sending.draw()


async def test_an_end_that_is_behind_is_waited_for(tmp_path: Path) -> None:
    """B2 still has the first appearance when B1 has the second."""
    async with pair(tmp_path) as both:
        for broker in ("B1", "B2"):
            await both.add(broker)
        await both.called("B2", "link_up")
        await both.remove("B1")
        await both.add("B1", 2)
        await both.called("B2", "link_down")
        refused = calls_of(both.overlay.servers["B2"]._refusals, "add")
        _, reason = await until(refused, lambda *_: True)
        assert reason == "link to B1: its end is of appearance 2, this end of 1"
        await both.remove("B2")
        await both.add("B2", 2)
        await both.called("B2", "link_up")


async def test_a_stream_that_is_reset_opens_again_and_loses_nothing(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        for broker in ("B1", "B2"):
            await both.add(broker)
        for side, other in (("B1", "B2"), ("B2", "B1")):
            for broker in ("B1", "B2"):
                await both.called(broker, "link_up")
            core = both.overlay.servers["B1"].broker
            core._actions.perform([Send("B2", Message(Kind.CONTROL, f"{side} {number}")) for number in range(5)])
            await both.ask(side, pb.ResetRequest(neighbour=other))
            await both.called(side, "link_down")
        for broker in ("B1", "B2"):
            await both.called(broker, "link_up")
        received = both.routers["B2"].messages
        while len(received) < 10:
            await until(both.happened, lambda *_: True)
        assert [message.id for message in received] == [f"{side} {n}" for side in ("B1", "B2") for n in range(5)]


async def test_messages_are_disturbed_on_request(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        for broker in ("B1", "B2"):
            await both.add(broker)
        await both.called("B1", "link_up")
        core = both.overlay.servers["B1"].broker
        for id, request in (
            ("lost", pb.DisturbRequest(neighbour="B1", lose=1.0)),
            ("late", pb.DisturbRequest(neighbour="B1", hold=1.0, held_for=0.05)),
            ("undisturbed", pb.DisturbRequest(neighbour="B1")),
        ):
            await both.ask("B2", request)
            received = calls_of(both.overlay.servers["B2"].broker.neighbours, "receive")
            core._actions.perform([Send("B2", Message(Kind.CONTROL, id))])
            await until(received, lambda *_: True)
        while len(both.routers["B2"].messages) < 2:
            await until(both.happened, lambda *_: True)
        assert {message.id for message in both.routers["B2"].messages} == {"late", "undisturbed"}


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (pb.LinksRequest(remove=["B9"]), "B1 and B9 are not linked"),
        (pb.LinksRequest(add=[pb.LinkEnd(neighbour="B1", dial=True, attributes="{}")]), "B1 and B1 are linked already"),
        (pb.LinksRequest(add=[pb.LinkEnd(neighbour="B3", local="nowhere", attributes="{}")]), "cannot listen on"),
        (
            pb.LinksRequest(add=[pb.LinkEnd(neighbour="B3", dial=True, attributes="[")]),
            "Expected `object`",
        ),
        (pb.ResetRequest(neighbour="B9"), "B1 and B9 are not linked"),
        (pb.DisturbRequest(neighbour="B9", lose=0.5), "B1 and B9 are not linked"),
        (pb.DisturbRequest(neighbour="B9", lose=1.5), "lose, repeat and hold are shares from 0 to 1"),
    ],
)
async def test_requests_that_cannot_be_are_refused_and_change_nothing(
    tmp_path: Path, request_: Request, reason: str
) -> None:
    async with pair(tmp_path) as both:
        with pytest.raises(grpc.aio.AioRpcError, match=reason):
            await both.ask("B1", request_)
        assert dict(both.overlay.servers["B1"].broker.links) == {}
        assert both.routers["B1"].calls == []


async def test_brokers_that_route_by_other_protocols_keep_their_neighbours(tmp_path: Path) -> None:
    async with Loopback(tmp_path, LIMITS) as overlay:
        await overlay.line("B1", "B2")
        both = Pair(overlay, {})
        with pytest.raises(grpc.aio.AioRpcError, match="a broker that routes by tid do not change"):
            await both.remove("B1")
        assert overlay.servers["B1"].broker.links["B2"].up
