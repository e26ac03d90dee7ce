"""Messages in the bytes of a gRPC stream: each follows a byte for compression and its length (gRPC over HTTP/2)."""

from __future__ import annotations

import struct
from typing import Final

from broker_service.transport.status import RpcError, StatusCode

_PREFIX = struct.Struct(">BI")
PREFIX_BYTES = _PREFIX.size
pack_prefix: Final = _PREFIX.pack
"""Makes the prefix of a message from the byte for compression, 0 for none, and the message's length."""
read_prefix: Final = _PREFIX.unpack_from
"""Reads the byte for compression and the length of the message whose prefix begins at a place."""


class MessageSplitter:
    """Splits the bytes of one stream into messages, however they were cut in transit."""

    __slots__ = ("_largest", "rest")

    def __init__(self, largest: int) -> None:
        """`largest` is the length, in bytes, that no message may exceed."""
        self._largest = largest
        self.rest = bytearray()
        """The part of a message whose end has not come."""

    def split(self, data: bytes) -> list[bytes]:
        """The messages that these bytes complete.

        Raises `RpcError` for a compressed message or one that is too large; nothing may be read after that.
        """
        rest, messages = self.rest, []
        rest += data
        begin = 0
        while len(rest) - begin >= PREFIX_BYTES:
            end = begin + PREFIX_BYTES + self._length(begin)
            if end > len(rest):
                break
            messages.append(bytes(rest[begin + PREFIX_BYTES : end]))
            begin = end
        del rest[:begin]
        return messages

    def _length(self, begin: int) -> int:
        """The length of the message whose prefix begins at this place of what came."""
        compressed: int
        length: int
        compressed, length = read_prefix(self.rest, begin)
        if compressed:
            raise RpcError(StatusCode.INTERNAL, "a message is compressed, though no compression was agreed on")
        if length > self._largest:
            reason = f"a message of {length} bytes exceeds the largest, {self._largest}"
            raise RpcError(StatusCode.RESOURCE_EXHAUSTED, reason)
        return length
