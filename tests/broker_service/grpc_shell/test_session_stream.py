"""A client's stream whose requests lead to backlogs on the links of the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from broker_service.config import Limits
from broker_service.core.broker import Broker
from broker_service.grpc_shell import streams
from broker_service.grpc_shell.service import Service
from broker_service.grpc_shell.streams import SessionStream
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.links.backlog import MOST_BYTES, MOST_WAITING
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import ClientRequest, Operation
from broker_service.service import ServiceQueue
from broker_service.transport.wire import encode_client_frames
from tests.broker_service.grpc_shell.test_link_stream import TURNS, turns
from tests.broker_service.loopback import QUOTES, quote
from tests.broker_service.transport.test_duplex import QueueStream
from tests.wire.hostile_headers import attacked

FRAMES, ITEMS = 20, 64


@asynccontextmanager
async def client_of(broker: Broker) -> AsyncIterator[QueueStream]:
    stream, service = QueueStream(), Service(ServiceQueue(None))
    running = asyncio.create_task(SessionStream(stream, broker, service, Limits(heartbeat=30)).run())
    await turns(5)
    try:
        yield stream
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        service.close()


def frames(operation: Operation, id_bytes: int, body: bytes) -> list[bytes]:
    """Frames of requests with names of this length, the first of which attaches the client and advertises."""
    numbers = range(2, FRAMES * ITEMS)
    first = [
        ClientRequest("C", 0, Operation.ATTACH),
        ClientRequest("C", 1, Operation.ADVERTISE, "a", encode_predicates(QUOTES.predicates)),
    ]
    requests = first + [ClientRequest("C", number, operation, f"{number:0{id_bytes}}", body) for number in numbers]
    split = [requests[begin : begin + ITEMS] for begin in range(0, len(requests), ITEMS)]
    return [encode_client_frames(part, 1 << 20)[0] for part in split]


def waiting(broker: Broker) -> OverlayLink:
    """The link for which most messages wait."""
    return max(broker.links.values(), key=lambda link: link.others_waiting)


@pytest.mark.parametrize("more", [0, 40])
async def test_requests_that_are_passed_on_wait_for_the_backlog_that_they_lead_to(
    more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long ones wait for a backlog of few messages."""
    monkeypatch.setattr(streams, "LOOK_AFTER", 0)
    monkeypatch.setattr(streams, "LOOKS", 1_000_000)
    broker = attacked("tid-fixed", 0).broker
    body = encode_predicates(QUOTES.predicates * (1 + more))
    most = min(MOST_WAITING, MOST_BYTES // len(body))
    async with client_of(broker) as stream:
        stream.waiting += frames(Operation.ADVERTISE, 4, body)
        stream.on_arrival()
        await turns(TURNS)
        link = waiting(broker)
        assert most - 1 <= link.others_waiting <= most + ITEMS
        for _ in range(10):
            while link.take():
                link.retransmission.acknowledge(link.sent)
            await turns(20)
            assert waiting(broker).others_waiting > 0


async def test_they_wait_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LOOK_AFTER", 0)
    broker = attacked("tid-fixed", 0).broker
    async with client_of(broker) as stream:
        stream.waiting += frames(Operation.ADVERTISE, 4, encode_predicates(QUOTES.predicates))
        stream.on_arrival()
        await turns(20)
        assert waiting(broker).others_waiting < FRAMES * ITEMS // 2
        await turns(4_000)
        assert waiting(broker).others_waiting == FRAMES * ITEMS - 1


async def test_publications_of_clients_do_not_wait() -> None:
    broker = attacked("tid-fixed", 0).broker
    link = next(iter(broker.links.values()))
    async with client_of(broker) as stream:
        stream.waiting += frames(Operation.PUBLISH, 4, encode_publication(quote(1)))
        stream.on_arrival()
        await turns(50)
        assert not stream.waiting
        assert link.others_waiting == 1
