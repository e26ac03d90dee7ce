"""The arrival of clients' publications in the log: of those whose frames cross a network before the broker has them."""

from __future__ import annotations

import asyncio
import time

import pytest

from broker_service.config import BrokerConfig, Limits
from broker_service.core.broker import Broker
from broker_service.grpc_shell.service import Service
from broker_service.grpc_shell.streams import SessionStream
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.messages import ClientRequest, Operation
from broker_service.service import ServiceQueue, single_messages
from broker_service.transport.connection import UNIX_PEER
from broker_service.transport.wire import encode_client_frames
from record.log import Event
from record.time_units import SECOND
from tests.broker_service.grpc_shell.test_link_stream import turns
from tests.broker_service.loopback import QUOTES, WITHIN, quote
from tests.broker_service.overlay import ListTrace
from tests.broker_service.transport.test_duplex import QueueStream

ATTACH = ClientRequest("C", 0, Operation.ATTACH)
ADVERTISE = ClientRequest("C", 1, Operation.ADVERTISE, "a", encode_predicates(QUOTES.predicates))


def publication(number: int) -> ClientRequest:
    return ClientRequest("C", number, Operation.PUBLISH, f"C:{number}", encode_publication(quote(1)))


@pytest.mark.parametrize(("peer", "logged"), [("10.0.0.5:4711", True), (UNIX_PEER, False)])
async def test_the_arrival_of_a_publication_is_logged_of_clients_whose_frames_cross_a_network(
    peer: str, *, logged: bool
) -> None:
    """The second publication waits for the service of the first, and had come before it."""
    trace = ListTrace("B1")
    broker = Broker(BrokerConfig(id="B1", incarnation=1, protocol="tid"), time.monotonic_ns, trace, lambda _: None)
    stream, service = QueueStream(), Service(ServiceQueue(single_messages(lambda _: SECOND // 50)))
    stream.peer = peer
    running = asyncio.create_task(SessionStream(stream, broker, service, Limits(heartbeat=30)).run())
    try:
        for part in ([ATTACH, ADVERTISE], [publication(2)], [publication(3)]):
            stream.receive(encode_client_frames(part, 1 << 20)[0])
            await turns(2)
        async with asyncio.timeout(WITHIN):
            while broker.sessions.published < 2:
                await service.progress()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        service.close()
    received = [record for record in trace.records if record.event == Event.RECEIVED and record.kind == "publish"]
    if logged:
        first, second = ((record.arrived, record.time) for record in received)
        assert first[0] and second[0]
        assert first[0] <= second[0] < first[1] < second[1]
    else:
        assert [record.arrived for record in received] == [None, None]
