"""Work that floods make a connection do, in instructions, which are the same on every machine.

Two things are bounded: the work of one callback of the event loop, in which nothing else is served, and all work until
the connection is refused.
"""

from __future__ import annotations

import asyncio
import time

import h2.config
import h2.connection
import pytest
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated

from benchmarks.support.floods import FLOODS, HostileEnd, data_header, prefixed, request
from broker_service.service import SLICE_TIME
from broker_service.transport.allowance import BURST, JUSTIFIED, RATE, Allowance, CalmError
from broker_service.transport.frames import window_update
from broker_service.transport.methods import LINK
from broker_service.transport.server import RpcServer, ServedStream, ServerConnection, ServerLimits
from tests.broker_service.transport.test_connection import ListedSocket
from tests.instructions import instructions

READ = 256_000
"""Bytes that the event loop may hand over at once."""

MOST_IN_A_TURN = 250_000
"""Instructions, which take 2 to 5 ms; a request of a call takes 6,000."""

MOST_IN_ALL = 8_000_000
"""Instructions that a connection costs before it is refused, when it sends all of its flood at once."""

CALM = "more than 4096 units of work a second for frames without data"


class Served:
    """A connection to a server whose calls read one message and then wait."""

    def __init__(self) -> None:
        self.refused: list[tuple[str, str]] = []
        self.socket = ListedSocket()
        self.server = RpcServer({LINK: self._serve}, ServerLimits(1 << 20, streams=1_000), self._note_refused)
        self.connection = ServerConnection(self.server)
        self.connection._allowance = Allowance(lambda: 0.0)
        self.connection.connection_made(self.socket)  # type: ignore[arg-type]

    def _note_refused(self, name: str, reason: str) -> None:
        self.refused.append((name, reason))

    async def _serve(self, stream: ServedStream) -> None:
        await stream.read()
        await asyncio.get_running_loop().create_future()

    async def read(self, data: bytes) -> list[int]:
        """Instructions of each turn in which data that came in are handled."""
        counts = [instructions(lambda: self.connection.data_received(data))]
        while self.connection._next_turn is not None:
            self.connection._next_turn.cancel()
            counts.append(instructions(self.connection._take_turn))
            await asyncio.sleep(0)
        return counts


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_takes_short_turns_and_is_refused(name: str) -> None:
    flood, end, served = FLOODS[name], HostileEnd(), Served()
    await served.read(end.greeting(flood.streams))
    counts = await served.read(flood.data(end, READ))
    assert max(counts) < MOST_IN_A_TURN
    assert sum(counts) < MOST_IN_ALL
    if flood.refused:
        assert served.refused == [("connection of a Unix socket", CALM)]
        assert served.socket.closed
        assert error_codes(served.socket) == [ErrorCodes.ENHANCE_YOUR_CALM]
    else:
        assert served.socket.reading
    await served.server.stop()


def error_codes(socket: ListedSocket) -> list[int | None]:
    """The errors with which a connection was closed, as h2 reads them at its other end."""
    peer = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    peer.initiate_connection()
    peer.max_inbound_frame_size = 1 << 20
    written = b"".join(socket.written)
    closing = [part for part in socket.written if part[3:4] == b"\x07"]
    assert written.endswith(closing[-1])
    return [event.error_code for event in peer.receive_data(closing[-1]) if isinstance(event, ConnectionTerminated)]


async def test_a_socket_is_not_read_while_a_flood_waits_for_its_turn() -> None:
    served, end = Served(), HostileEnd()
    connection = served.connection
    connection.data_received(end.greeting(0) + FLOODS["pings"].data(end, 17 * 200))
    assert not served.socket.reading
    connection.data_received(FLOODS["pings"].data(end, 17))
    assert connection._next_turn is not None
    for _ in range(20):
        await asyncio.sleep(0)
    assert served.socket.reading
    assert b"".join(served.socket.written).count(b"\0\0\x08\x06\x01\0\0\0\x0012345678") == 201
    assert not served.refused


async def test_costly_messages_make_a_turn_shorter() -> None:
    served, end = Served(), HostileEnd()
    await served.read(end.greeting(1))
    await asyncio.sleep(0)  # the call begins to read
    (stream,) = served.connection.streams.values()
    handled: list[bytes | None] = []

    def handle() -> None:
        handled.append(stream.waiting.popleft())
        time.sleep(SLICE_TIME / 1e9)

    stream.on_arrival = handle
    message = prefixed(b"costly")
    served.connection.data_received((data_header(1, len(message)) + message) * 5)
    assert len(handled) == 2
    for _ in range(5):
        await asyncio.sleep(0)
    assert handled == [b"costly"] * 5
    await served.server.stop()


async def test_a_header_that_is_not_utf_8_is_refused_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    served = Served()
    peer = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding=None))
    peer.initiate_connection()
    headers = [(name.encode(), value.encode()) for name, value in request()]
    peer.send_headers(1, [*headers, (b"grpc-x", b"\xed\xa0\x80")])
    served.connection.data_received(peer.data_to_send())
    ((_, reason),) = served.refused
    assert "a header is not UTF-8" in reason
    assert served.socket.closed
    assert not caplog.records
    await served.server.stop()


def test_data_justify_frames_without_data_and_time_does() -> None:
    now = 0.0
    allowance = Allowance(lambda: now)
    allowance.spend(BURST)
    with pytest.raises(CalmError):
        allowance.spend(1)
    allowance.data += JUSTIFIED * 3
    now = 0.001
    allowance.spend(RATE // 1000 + 2)
    with pytest.raises(CalmError):
        allowance.spend(10)
    now = 3600.0
    allowance.spend(BURST)
    with pytest.raises(CalmError):
        allowance.spend(BURST)


async def test_the_window_of_a_connection_is_shared_by_the_streams_that_wait_for_it() -> None:
    served, end = Served(), HostileEnd()
    await served.read(end.greeting(3))
    streams = list(served.connection.streams.values())
    for stream in streams:
        stream.window = 1 << 20
        stream.send(bytes(100_000))
    for _ in range(6):
        served.connection.data_received(window_update(0, 1))
    assert [(1 << 20) - stream.window for stream in streams] == [65_535 + 2, 2, 2]
    await served.server.stop()


async def test_small_messages_are_taken_as_long_as_they_are_few() -> None:
    served, end = Served(), HostileEnd()
    await served.read(end.greeting(1))
    message = prefixed(b"x")
    await served.read((data_header(1, len(message)) + message) * (BURST // 2))
    assert not served.refused
    await served.server.stop()
