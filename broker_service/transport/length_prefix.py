"""Messages in the bytes of a gRPC stream: each follows a byte for compression and its length (gRPC over HTTP/2)."""

from __future__ import annotations

import struct

from broker_service.transport.status import RpcError, StatusCode

_PREFIX = struct.Struct(">BI")
PREFIX_BYTES = _PREFIX.size
_pack, _unpack = _PREFIX.pack, _PREFIX.unpack_from


def prefixed(message: bytes) -> bytes:
    """The bytes of an uncompressed message."""
    return _pack(0, len(message)) + message


class MessageSplitter:
    """Splits the bytes of one stream into messages, however they were cut in transit."""

    __slots__ = ("_largest", "_rest")

    def __init__(self, largest: int) -> None:
        """`largest` is the length, in bytes, that no message may exceed."""
        self._largest = largest
        self._rest = bytearray()

    def split(self, data: bytes) -> list[bytes]:
        """The messages that these bytes complete.

        Raises `RpcError` for a compressed message or one that is too large; nothing may be read after that.
        """
        if not self._rest and len(data) >= PREFIX_BYTES and self._length(data, 0) == len(data) - PREFIX_BYTES:
            return [data[PREFIX_BYTES:]]
        rest, messages = self._rest, []
        rest += data
        begin = 0
        while len(rest) - begin >= PREFIX_BYTES:
            end = begin + PREFIX_BYTES + self._length(rest, begin)
            if end > len(rest):
                break
            messages.append(bytes(rest[begin + PREFIX_BYTES : end]))
            begin = end
        del rest[:begin]
        return messages

    def _length(self, data: bytes | bytearray, begin: int) -> int:
        """The length of the message whose prefix begins here."""
        compressed: int
        length: int
        compressed, length = _unpack(data, begin)
        if compressed:
            raise RpcError(StatusCode.INTERNAL, "a message is compressed, though no compression was agreed on")
        if length > self._largest:
            reason = f"a message of {length} bytes exceeds the largest, {self._largest}"
            raise RpcError(StatusCode.RESOURCE_EXHAUSTED, reason)
        return length
