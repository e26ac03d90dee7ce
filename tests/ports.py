"""Ports that belong to one process of the tests, also while nothing listens on them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import socket
from collections.abc import Iterator

from emulation.host.loopback_block import LoopbackBlock

_FIRST, _EACH = 10_000, 80
"""The lowest port, and the number of those of one process. All are below the ports that the kernel gives to connections
(from 32,768 on), so that no connection takes one whose broker is restarted."""


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens, and which was not given lately."""
    while True:
        port = next(_ports())
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
            probe.bind(("127.0.0.1", port))
            return port


@functools.cache
def _ports() -> Iterator[int]:
    """The ports of this process, again and again; its block of addresses numbers the processes of the tests."""
    first = _FIRST + _EACH * _block().number
    return itertools.cycle(range(first, first + _EACH))


@functools.cache
def _block() -> LoopbackBlock:
    """Held until the process ends."""
    return LoopbackBlock()
