"""Silence of the other end of a connection: a host that is gone, or a network that carries nothing.

TCP itself gives an idle connection up never, and one with data in flight after a quarter of an hour. So the kernel is
made to ask after the other end's kernel now and then, and the time since its latest answer is looked at. An end whose
process does not read, or is frozen, is not silent, because its kernel answers all the same. Nor is one that has closed
its window: the kernel asks that one ever more rarely.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final

SILENT_HEARTBEATS: Final = 10
"""Heartbeats (`Limits.heartbeat`) after which a silent end of a client's session is taken to be gone. More than those
of a link between brokers, because access links lose packets, and nothing but TCP repeats them."""

_LOOKS: Final = 10
"""Looks in that time."""
_PROBES: Final = 5
"""Questions of the kernel in that time, at least a second apart."""
_INFO_BYTES: Final = 192
_UNACKNOWLEDGED, _LAST_ANSWER, _UNSENT = 24, 56, 144
"""Places of numbers in the kernel's `tcp_info`: packets that were not acknowledged, milliseconds since the latest
answer, and bytes that were not sent."""


class SilenceWatch:
    """Ends a connection over TCP when its other end has been silent for too long."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        made = transport.get_extra_info("socket")
        if made is None or made.family == socket.AF_UNIX:
            return
        self._socket: socket.socket = made
        apart = max(1, round(seconds / _PROBES))
        for option, value in (
            (socket.TCP_KEEPIDLE, apart),
            (socket.TCP_KEEPINTVL, apart),
            (socket.TCP_KEEPCNT, 2 * _PROBES),
        ):
            made.setsockopt(socket.IPPROTO_TCP, option, value)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._look_later()

    def _look_later(self) -> None:
        asyncio.get_running_loop().call_later(self._seconds / _LOOKS, self._look)

    def _look(self) -> None:
        if self._transport.is_closing():
            return
        if self._is_silent():
            self._transport.abort()
        else:
            self._look_later()

    def _is_silent(self) -> bool:
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        unacknowledged, since, unsent = (
            struct.unpack_from("=I", info, place)[0] for place in (_UNACKNOWLEDGED, _LAST_ANSWER, _UNSENT)
        )
        closed_window = unsent and not unacknowledged
        return not closed_window and since > self._seconds * 1000
