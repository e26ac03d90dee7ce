"""Capture of a link's frames at one of its ends, with the kernel's time stamps, as a pcapng file.

Frames are read from a packet socket (packet(7)) in the network namespace of the end's broker. What the kernel had to
drop, because the reader was too slow, is counted and said. The file is that of draft-ietf-opsawg-pcapng-02: a section
header, one interface whose time stamps are nanoseconds, and a block for each frame, which says whether it came or went.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

_ALL_PROTOCOLS = 0x0003
_SOL_PACKET, _STATISTICS = 263, 6
_TIMESTAMPS = 35
"""SO_TIMESTAMPNS, also the type of the message that carries a time stamp."""
_OUTGOING = 4
_LARGEST = 256 << 10
"""Bytes of a frame: a segment that the kernel divides later is one frame here."""
_BUFFER = 16 << 20
_LOOK = 0.2
"""Seconds between two looks at whether the capture is to end."""

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_COMMENT, _NAME, _RESOLUTION, _FLAGS = 1, 2, 9, 2
_NANOSECONDS = 9
_ETHERNET = 1


@dataclass(frozen=True, slots=True)
class Captured:
    """The frames of a capture."""

    frames: int
    dropped: int
    """Frames that the kernel did not keep for the reader."""


def packet_socket(interface: str) -> socket.socket:
    """A socket that reads the frames of an interface in the calling thread's network namespace. Raises `OSError`."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        opened.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
        opened.bind((interface, _ALL_PROTOCOLS))
        opened.settimeout(_LOOK)
    except OSError:
        opened.close()
        raise
    return opened


def capture(frames: socket.socket, name: str, comment: str, file: BinaryIO, goes_on: Callable[[], bool]) -> Captured:
    """Writes the frames of a packet socket to a file until `goes_on` is false. `name` is that of the link's end."""
    file.write(_header(name, comment))
    count = 0
    while goes_on():
        try:
            frame, ancillary, _, address = frames.recvmsg(_LARGEST, socket.CMSG_SPACE(16))
        except TimeoutError:
            file.flush()
            continue
        file.write(_block(frame, _time(ancillary), outgoing=address[2] == _OUTGOING))
        count += 1
    file.flush()
    _, dropped = struct.unpack("II", frames.getsockopt(_SOL_PACKET, _STATISTICS, 8))
    return Captured(count, dropped)


def _time(ancillary: list[tuple[int, int, bytes]]) -> int:
    """The kernel's time stamp, in nanoseconds since 1970."""
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == _TIMESTAMPS:
            seconds, nanoseconds = struct.unpack("qq", content[:16])
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    raise OSError("the kernel gives frames no time stamps")


def _header(name: str, comment: str) -> bytes:
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + _option(_COMMENT, comment.encode()) + bytes(4)
    interface = struct.pack("<HHI", _ETHERNET, 0, 0) + _option(_NAME, name.encode())
    return _framed(_SECTION, section) + _framed(
        _INTERFACE, interface + _option(_RESOLUTION, bytes([_NANOSECONDS])) + bytes(4)
    )


def _block(frame: bytes, time: int, *, outgoing: bool) -> bytes:
    head = struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame))
    flags = struct.pack("<I", 2 if outgoing else 1)
    return _framed(_PACKET, head + _padded(frame) + _option(_FLAGS, flags) + bytes(4))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)


def _framed(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length
