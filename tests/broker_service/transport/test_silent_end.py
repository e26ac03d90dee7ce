"""A connection whose end falls silent: its other end hears nothing any more, not even a reset."""

from __future__ import annotations

import asyncio
import os
import socket
import struct

import pytest

from broker_service.transport.silent_end import NOBODY, fall_silent

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: TCP_REPAIR")

ESTABLISHED, UNACKNOWLEDGED = 1, 24
"""The state of an open connection, and the place of the number of segments without an answer, in `tcp_info`."""


def test_what_is_sent_to_a_silent_end_has_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        asyncio.run(_fall_silent(listening))


async def _fall_silent(listening: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, *listening.getsockname())
    other, name = listening.accept()
    with other:
        deaf = fall_silent(transport, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        with deaf:
            assert (deaf.getsockname(), deaf.getpeername()) == (name, listening.getsockname())
            assert os.fstat(deaf.fileno()).st_uid == NOBODY
            other.sendall(b"hello")
            await _round_trip(listening)
            info = other.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
            assert info[0] == ESTABLISHED
            assert struct.unpack_from("=I", info, UNACKNOWLEDGED) == (1,)
            assert transport.is_closing()
        await _round_trip(listening)
        assert other.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED, "the end is silent, too"


async def _round_trip(listening: socket.socket) -> None:
    """An exchange over a connection of its own: whatever the kernel has to say to others by then, it has said."""
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    accepted, _ = listening.accept()
    with accepted:
        accepted.sendall(b"there")
        assert await reader.readexactly(5) == b"there"
    writer.close()
