"""The frames of HTTP/2 that carry data (RFC 9113, sections 4.1, 6.1 and 6.9); h2 reads and writes all others."""

from __future__ import annotations

import struct
from typing import Final

from h2.exceptions import ProtocolError

PREFACE_BYTES = 24
"""Length of what a client sends before its first frame (section 3.4)."""

HEADER_BYTES = 9
"""Length of a frame's header."""

LARGEST_WINDOW = (1 << 31) - 1
"""Bytes; no window may exceed it (section 6.9.1)."""

DATA = 0x0
"""Type of a frame with data."""
END_STREAM = 0x1
"""Flag of data behind which none follows on its stream."""
PADDED = 0x8
"""Flag of data with padding."""

HEADERS = 0x1
"""Type of a frame that opens a stream, or ends its response."""
RST_STREAM = 0x3
"""Type of a frame that breaks a stream."""
SETTINGS = 0x4
"""Type of a frame that states the bounds of its sender."""

CONTINUATION = 0x9
"""Type of a frame with further headers."""

WINDOW_UPDATE = 0x8
"""Type of a frame that enlarges a window."""
INCREMENT_BYTES = 4
"""Length of the content of a window update."""

STREAM_BITS: Final = (1 << 31) - 1
"""Bits of a stream's number; the one above them is reserved."""

_HEADER = struct.Struct(">HBBBL")
_INCREMENT = struct.Struct(">L")
pack_header: Final = _HEADER.pack
"""Makes the header of a frame, of the fields that `read_header` reads."""
read_header: Final = _HEADER.unpack_from
"""Reads the header of the frame that begins at a place: the high and the low part of the length of its content, its
type, its flags and its stream, whose highest bit means nothing (`STREAM_BITS`)."""


class PaddingError(ProtocolError):
    """A frame has more padding than content."""


def unpadded(content: bytes) -> bytes:
    """The data in the content of a frame with padding. Raises `PaddingError`."""
    if not content or content[0] >= len(content):
        raise PaddingError(f"no room for the padding in a frame of {len(content)} bytes")
    return content[1 : len(content) - content[0]]


def read_increment(data: bytes, begin: int) -> int:
    """The bytes by which the content that begins here enlarges a window."""
    increment: int = _INCREMENT.unpack_from(data, begin)[0]
    return increment & STREAM_BITS


def end_of_data(stream: int) -> bytes:
    """A frame without data that ends its stream."""
    return pack_header(0, 0, DATA, END_STREAM, stream)


def window_update(stream: int, increment: int) -> bytes:
    """A frame that enlarges the window of a stream, or of the connection for stream 0."""
    return pack_header(0, INCREMENT_BYTES, WINDOW_UPDATE, 0, stream) + _INCREMENT.pack(increment)
