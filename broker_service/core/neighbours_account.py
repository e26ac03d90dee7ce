"""Memory that neighbours' advertisements and subscriptions take at a broker, within the bound that clients' have.

The router holds them, in tables of its own. Only now and then is it asked how much that is, because it has to look
through them: whenever the messages since then may have grown to a sixteenth of the bound. While there is less room than
that, messages that would take more are dropped, whichever neighbour sends them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from broker_service.routing.interface import NoRoomError

OVERHEAD: Final = 512
"""Bytes of memory of an advertisement or a subscription besides its content, about."""
_BYTES_A_BYTE: Final = 8
"""Bytes of memory that a byte of a message takes at the most, about: its shortest items are kept one by one."""
_PARTS: Final = 16


class NeighboursAccount:
    """The bytes that neighbours' advertisements and subscriptions take at a broker, counted against their bound."""

    def __init__(self, most_bytes: int, declared: Callable[[], Iterable[int]]) -> None:
        """`declared` returns the bytes of each advertisement and subscription that the router holds for neighbours."""
        self._declared = declared
        self._most = most_bytes - most_bytes // _PARTS
        self._part = most_bytes // _PARTS
        self._held = 0
        """Bytes at the last count."""
        self._since = 0
        """Bytes that messages since then may have taken."""

    def require_room(self, size: int) -> None:
        """Counts an advertisement or a subscription of this size. Raises `NoRoomError` if there is no room for it."""
        grown = OVERHEAD + _BYTES_A_BYTE * size
        self._since += grown
        if self._held + self._since <= self._most:
            return
        if self._held <= self._most or self._since >= self._part:
            self._held = sum(size + OVERHEAD for size in self._declared())
            self._since = 0
        if self._held > self._most:
            raise NoRoomError("no room for further advertisements and subscriptions (limits.declared_bytes)")
        self._since = grown
