"""TAP interfaces: Ethernet devices whose other end is a file descriptor."""

from __future__ import annotations

import fcntl
import functools
import os
import struct
from collections.abc import Callable

TAP_DEVICE = "/dev/net/tun"
HEADER_SIZE = 10
"""Bytes of `struct virtio_net_hdr` before each frame: which checksum is still to be filled in, and how to segment.

Passed on unchanged, it lets the far end accept a frame without a computed checksum, as between virtual machines."""

_ETHERNET_HEADER = 14
_FRAME_READ, _SEGMENTS_READ = 2_048, HEADER_SIZE + 18 + 65_535

_SET_INTERFACE = 0x400454CA  # TUNSETIFF
_SET_OFFLOAD = 0x400454D0  # TUNSETOFFLOAD
_TAP, _NO_PACKET_INFORMATION, _VIRTIO_HEADER = 0x0002, 0x1000, 0x4000
_CHECKSUM, _SEGMENTATION = 0x01, 0x02 | 0x04


def open_tap(name: str) -> int:
    """Makes a TAP interface in the calling thread's network namespace; it exists as long as the returned descriptor is
    open.

    Raises `OSError` if the device or the privileges are missing, or the name is taken.
    """
    descriptor = os.open(TAP_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        flags = _TAP | _NO_PACKET_INFORMATION | _VIRTIO_HEADER
        fcntl.ioctl(descriptor, _SET_INTERFACE, struct.pack("16sH22x", name.encode(), flags))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def expect_frames(descriptor: int) -> Callable[[], bytes]:
    """Has the kernel deliver frames of at most the MTU, 1500 bytes of content; returns a function that reads one."""
    fcntl.ioctl(descriptor, _SET_OFFLOAD, _CHECKSUM)
    return functools.partial(os.read, descriptor, _FRAME_READ)


def damaged(frame: bytes, bit: int) -> bytes:
    """A frame, as `expect_frames` reads it, with one bit of its content inverted.

    Its header no longer allows the checksum to be filled in later. The receiver therefore checks it and detects the
    damage: the transport drops the frame as it does on a real wire.
    """
    inverted = bytearray(frame)
    inverted[:HEADER_SIZE] = bytes(HEADER_SIZE)
    position = HEADER_SIZE + _ETHERNET_HEADER + bit // 8 % (len(frame) - HEADER_SIZE - _ETHERNET_HEADER)
    inverted[position] ^= 1 << bit % 8
    return bytes(inverted)


def expect_segments(descriptor: int) -> Callable[[], bytes]:
    """Lets the kernel deliver up to 64 KiB of a TCP stream as one frame; returns a function that reads one."""
    fcntl.ioctl(descriptor, _SET_OFFLOAD, _CHECKSUM | _SEGMENTATION)
    buffer = bytearray(_SEGMENTS_READ)
    buffers, view = [buffer], memoryview(buffer)

    def read() -> bytes:
        # os.read would allocate 64 KiB and keep, in most cases, a few hundred bytes of them.
        return view[: os.readv(descriptor, buffers)].tobytes()

    return read
