"""Silent ends of connections: a host that is gone, told from a client that does not read by the kernel's account."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import cast

import pytest

from broker_service.transport.silence import SilenceWatch


class Watched:
    """A transport and its socket, of which the kernel knows these numbers."""

    family = socket.AF_INET

    def __init__(self, *, unacknowledged: int, since: float, unsent: int) -> None:
        info = bytearray(192)
        for place, value in ((24, unacknowledged), (56, round(since * 1000)), (144, unsent)):
            struct.pack_into("=I", info, place, value)
        self._info = bytes(info)
        self.aborted = asyncio.Event()
        self.asks_after = False

    def get_extra_info(self, _: str) -> Watched:
        return self

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self.asks_after |= (level, option, value) == (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def getsockopt(self, *_: int) -> bytes:
        return self._info

    def is_closing(self) -> bool:
        return self.aborted.is_set()

    def abort(self) -> None:
        self.aborted.set()


def silent(*, unacknowledged: int, since: float, unsent: int) -> bool:
    """True where a watch for 0.2 s of silence ends a connection at its first look."""

    async def watch() -> bool:
        watched = Watched(unacknowledged=unacknowledged, since=since, unsent=unsent)
        watching = SilenceWatch(cast(asyncio.Transport, watched), 0.2)
        assert watched.asks_after
        watching._look()
        return watched.aborted.is_set()

    return asyncio.run(watch())


@pytest.mark.parametrize("waiting", [(0, 0), (3, 0), (3, 5000)])
def test_a_host_that_does_not_answer_is_gone(waiting: tuple[int, int]) -> None:
    unacknowledged, unsent = waiting
    assert silent(unacknowledged=unacknowledged, since=0.3, unsent=unsent)
    assert not silent(unacknowledged=unacknowledged, since=0.1, unsent=unsent)


def test_a_client_that_does_not_read_is_not_gone() -> None:
    assert not silent(unacknowledged=0, since=60.0, unsent=5000)


def test_the_numbers_are_where_the_kernel_has_them() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    with server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            client.setblocking(False)
            sent = 0
            try:
                while True:
                    sent += client.send(bytes(1 << 16))
            except BlockingIOError:
                info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    unsent = struct.unpack_from("=I", info, 144)[0]
    assert 0 < unsent <= sent
