"""Connections whose other end breaks the rules, over a socket made of lists."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import h2.config
import h2.connection
import pytest
from h2.events import StreamReset
from h2.settings import SettingCodes
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.support.floods import data_header, prefixed
from broker_service.transport import stream as streams
from broker_service.transport.channel import Call, ClientConnection
from broker_service.transport.connection import _MOST_UNSENT
from broker_service.transport.frames import HEADER_BYTES, LARGEST_WINDOW, end_of_data, window_update
from broker_service.transport.methods import SESSION
from broker_service.transport.outgoing import FIRST_WINDOW
from broker_service.transport.server import RpcServer, ServedStream, ServerConnection, ServerLimits
from broker_service.transport.stream import STREAM_WINDOW

LARGEST = 1000
REQUEST = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", SESSION.path),
    (":authority", "x"),
    ("content-type", "application/grpc"),
)


class ListedSocket:
    """Stands in for a transport: it keeps what is written, and nobody reads it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.unsent = 0
        self.closed = False
        self.aborted = False
        self.reading = True

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written.append(data)
        self.unsent += len(data)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def get_extra_info(self, name: str) -> None:
        return None

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def take(self) -> bytes:
        data = b"".join(self.written)
        self.written.clear()
        return data


refused: list[tuple[str, str]] = []
"""Connections that servers have refused, and the reasons."""


@pytest.fixture(autouse=True)
def none_refused_before() -> None:
    refused.clear()


def served() -> tuple[ServerConnection, ListedSocket]:
    """A connection to a server that refuses all streams, because it serves none."""
    server = RpcServer({}, ServerLimits(LARGEST, streams=0), lambda name, reason: refused.append((name, reason)))
    connection, socket = ServerConnection(server), ListedSocket()
    connection.connection_made(socket)  # type: ignore[arg-type]
    return connection, socket


def peer_of(client_side: bool) -> h2.connection.H2Connection:
    configuration = h2.config.H2Configuration(
        client_side=client_side, header_encoding="utf-8", validate_outbound_headers=False
    )
    peer = h2.connection.H2Connection(configuration)
    peer.initiate_connection()
    return peer


def opened() -> tuple[ClientConnection, ListedSocket, h2.connection.H2Connection, Call]:
    """A call, and its server's end as the library h2 has it."""
    connection, socket, peer = ClientConnection(LARGEST), ListedSocket(), peer_of(client_side=False)
    connection.connection_made(socket)  # type: ignore[arg-type]
    call = connection.open(SESSION.path, "x")
    peer.receive_data(socket.take())
    peer.send_headers(call.number, [(":status", "200"), ("content-type", "application/grpc")])
    connection.data_received(peer.data_to_send())
    return connection, socket, peer, call


def resets(peer: h2.connection.H2Connection, socket: ListedSocket) -> list[int]:
    """Numbers of the streams that the connection has reset for its peer."""
    return [event.stream_id for event in peer.receive_data(socket.take()) if isinstance(event, StreamReset)]


@given(garbage=st.binary(max_size=200), cut=st.integers(1, 60))
@example(garbage=bytes(9), cut=21)
def test_garbage_is_answered_or_closes_the_connection(garbage: bytes, cut: int) -> None:
    connection, socket = served()
    data = peer_of(client_side=True).data_to_send() + garbage
    for begin in range(0, len(data), cut):
        if not socket.closed:
            connection.data_received(data[begin : begin + cut])
    assert len(connection._rest) <= len(garbage)


def test_bytes_that_are_not_http_2_close_the_connection() -> None:
    connection, socket = served()
    connection.data_received(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n")
    assert socket.closed


@pytest.mark.parametrize("stream", [0, 1])
def test_a_window_above_the_largest_breaks_the_call_and_closes_the_connection(stream: int) -> None:
    connection, socket, _, call = opened()
    connection.data_received(window_update(stream, LARGEST_WINDOW))
    assert socket.closed
    assert call.error is not None


def test_data_beyond_the_window_breaks_its_stream() -> None:
    connection, socket, peer, call = opened()
    message = prefixed(bytes(LARGEST))
    for _ in range(STREAM_WINDOW // len(message)):
        connection.data_received(data_header(call.number, len(message)) + message)
    assert call.error is None
    connection.data_received(data_header(call.number, len(message)) + message)
    assert "more data than the window has room for" in str(call.error)
    assert not socket.closed
    assert resets(peer, socket) == [call.number]


def test_a_refused_stream_is_reset_because_its_other_end_may_still_send() -> None:
    connection, socket = served()
    peer = peer_of(client_side=True)
    peer.send_headers(1, REQUEST)
    connection.data_received(peer.data_to_send())
    assert resets(peer, socket) == [1]


def test_a_frame_that_is_too_large_closes_the_connection_at_its_header() -> None:
    connection, socket, _, call = opened()
    connection.data_received(data_header(call.number, 1 << 20))
    assert socket.closed


async def test_nothing_is_sent_while_the_buffer_of_the_socket_is_full() -> None:
    connection, socket, _, call = opened()
    socket.take()
    connection.pause_writing()
    writing = asyncio.create_task(call.write(b"quote"))
    await asyncio.sleep(0)
    assert not socket.take()
    connection.resume_writing()
    await writing
    assert socket.take().endswith(prefixed(b"quote"))


def test_all_streams_of_a_connection_share_its_window() -> None:
    connection, socket, peer, call = opened()
    peer.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW})
    connection.data_received(peer.data_to_send())
    sent = 0
    while size := connection.outgoing.send(call, bytes(100_000)):
        sent += size
    assert sent == FIRST_WINDOW < call.window
    peer.receive_data(socket.take())  # which raises an error for data beyond the window
    peer.increment_flow_control_window(7)
    connection.data_received(peer.data_to_send())
    assert connection.outgoing.send(call, bytes(100_000)) == 7


def test_the_window_of_the_connection_is_enlarged_when_half_of_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, socket, _, call = opened()
    monkeypatch.setattr(streams, "CONNECTION_WINDOW", 2 * LARGEST)
    socket.take()
    message = prefixed(bytes(LARGEST - HEADER_BYTES))
    connection.data_received(data_header(call.number, len(message)) + message)
    assert not socket.take()
    connection.data_received(data_header(call.number, len(message)) + message)
    assert socket.take() == window_update(0, 2 * len(message))


async def test_padding_is_not_part_of_a_message() -> None:
    connection, _, peer, call = opened()
    peer.send_data(call.number, prefixed(b"quote"), pad_length=9)
    connection.data_received(peer.data_to_send())
    assert await call.read() == b"quote"


def test_data_of_a_stream_that_was_never_opened_closes_the_connection() -> None:
    connection, socket, _, _ = opened()
    connection.data_received(data_header(99, 1) + b"x")
    assert socket.closed


async def test_data_that_ends_a_stream_is_read_before_its_end() -> None:
    connection, _, _, call = opened()
    message = prefixed(b"last")
    connection.data_received(data_header(call.number, len(message)) + message + end_of_data(call.number))
    assert await call.read() == b"last"
    assert await call.read() is None


@pytest.mark.parametrize("question", [lambda peer: peer.ping(b"12345678"), lambda peer: peer.update_settings({3: 7})])
def test_a_connection_that_does_not_read_its_answers_is_aborted(
    question: Callable[[h2.connection.H2Connection], None],
) -> None:
    connection, socket = served()
    peer = peer_of(client_side=True)
    connection.data_received(peer.data_to_send())
    peer.receive_data(socket.take())
    question(peer)
    asked = peer.data_to_send()
    socket.unsent = _MOST_UNSENT - 100
    for _ in range(100):
        if not socket.aborted:
            connection.data_received(asked)
    assert socket.aborted
    assert socket.unsent < _MOST_UNSENT + 100


async def test_streams_that_are_reset_at_once_leave_nothing_behind() -> None:
    """A task that is cancelled before its first step runs nothing, not even what is to be done finally."""

    async def handler(stream: ServedStream) -> None:
        await stream.read()

    server = RpcServer({SESSION: handler}, ServerLimits(LARGEST, streams=10), lambda *_: None)
    connection, socket = ServerConnection(server), ListedSocket()
    connection.connection_made(socket)  # type: ignore[arg-type]
    peer = peer_of(client_side=True)
    for number in range(1, 301, 2):
        peer.send_headers(number, REQUEST)
        peer.reset_stream(number)
        connection.data_received(peer.data_to_send())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert not connection.streams
    assert not server._tasks
    assert not socket.closed


async def test_a_call_that_is_still_being_read_is_not_cancelled_when_its_stream_breaks() -> None:
    read: list[bytes | None] = []

    async def handler(stream: ServedStream) -> None:
        stream.reads_on = True
        await asyncio.sleep(0)
        read.append(await stream.read())

    server = RpcServer({SESSION: handler}, ServerLimits(LARGEST, streams=10), lambda *_: None)
    connection, socket = ServerConnection(server), ListedSocket()
    connection.connection_made(socket)  # type: ignore[arg-type]
    peer = peer_of(client_side=True)
    peer.send_headers(1, REQUEST)
    peer.send_data(1, prefixed(b"last"))
    connection.data_received(peer.data_to_send())
    await asyncio.sleep(0)
    peer.reset_stream(1)
    connection.data_received(peer.data_to_send())
    for _ in range(3):
        await asyncio.sleep(0)
    assert read == [b"last"]
    assert not server._tasks
