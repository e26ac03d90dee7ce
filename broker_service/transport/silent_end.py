"""The end of a connection whose host has lost its network: it sends nothing any more, and answers nothing.

Where only one of several clients of a host loses its network, as one does that is carried to another place, its kernel
stays in the network and would tell the other end of a connection that is closed. So an end in the same place takes over
that ignores whatever comes, by a filter (socket(7)), and has nothing to send. The kernel lets both happen without a
packet by the means that are made to carry connections from one host to another (`TCP_REPAIR`).
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import struct
from collections.abc import Callable
from typing import Final

_TCP_REPAIR: Final = 19
_SO_ATTACH_FILTER: Final = 26
"""Options of sockets that Python does not name."""
NOBODY: Final = 65534
"""The owner of a socket that ignores what comes, by which it is told from connections in use."""
_DROP_ALL: Final = struct.pack("=HBBI", 0x06, 0, 0, 0)
"""A filter of one instruction: pass on none of a packet's bytes."""


def fall_silent(transport: asyncio.Transport, make_socket: Callable[[], socket.socket]) -> socket.socket:
    """Closes a connection over TCP without a word to its other end. Returns the socket that ignores what comes from
    there until it is closed, which happens in silence as well. `make_socket` makes it in the connection's network.

    Raises `OSError` on a host without the right to it.
    """
    made = transport.get_extra_info("socket")
    name, peer = made.getsockname(), made.getpeername()
    made.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
    with socket.socket(made.family, socket.SOCK_STREAM) as nothing:
        os.dup2(nothing.fileno(), made.fileno(), inheritable=False)  # so that the connection ends at once
    deaf = make_socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    deaf.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
    _ignore_all(deaf)
    deaf.bind(name)
    deaf.connect(peer)
    os.fchown(deaf.fileno(), NOBODY, NOBODY)
    transport.abort()
    return deaf


def _ignore_all(made: socket.socket) -> None:
    instructions = ctypes.create_string_buffer(_DROP_ALL)
    made.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", 1, ctypes.addressof(instructions)))
