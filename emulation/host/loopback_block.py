"""Blocks of loopback addresses: runs and benches that share this host take no address of one another."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

from record.errors import HostError

_PORT = 7000
_BLOCKS = range(1, 255)
"""127.0.0.0/16 has the host's own services."""


class LoopbackBlock:
    """The addresses 127.x.0.0/16, which belong to one holder until it closes the block or its process ends.

    The holder listens on the block's last address, so that no other can claim the block meanwhile.
    """

    def __init__(self, make_socket: Callable[[], socket.socket] = socket.socket) -> None:
        """Claims a block; `make_socket` makes a TCP socket in the network that has the addresses.

        Raises `HostError` when no block is free.
        """
        self.number, self._claim = _claim(make_socket)

    def address(self, third: int, fourth: int) -> str:
        """An address of the block, by its last two numbers."""
        return f"127.{self.number}.{third}.{fourth}"

    def close(self) -> None:
        """Gives the addresses back."""
        self._claim.close()


def _claim(make_socket: Callable[[], socket.socket]) -> tuple[int, socket.socket]:
    """The x of a free block, and the socket that claims it."""
    for block in _BLOCKS:
        claim = make_socket()
        try:
            claim.bind((f"127.{block}.255.254", _PORT))
            claim.listen(1)
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                raise HostError(f"no loopback address for brokers: {error}") from error
        else:
            return block, claim
    raise HostError(
        f"no loopback addresses for brokers: port {_PORT} is in use on all of them, most likely by one program that "
        f"listens on all addresses: end it; `ss --listening --tcp --processes 'sport = :{_PORT}'` shows it"
    )
