"""TAP interfaces: Ethernet devices whose wire is a file descriptor."""

from __future__ import annotations

import fcntl
import functools
import os
import struct
from collections.abc import Callable

TAP_DEVICE = "/dev/net/tun"
HEADER_SIZE = 10
"""Bytes of `struct virtio_net_hdr` before each frame: which checksum is still to be filled in, and how to segment.

Passed on untouched, it lets the far end accept a frame whose checksum nobody computed, as between virtual machines."""

_ETHERNET_HEADER = 14
_FRAME_READ, _SEGMENTS_READ = 2_048, HEADER_SIZE + 18 + 65_535

_SET_INTERFACE = 0x400454CA  # TUNSETIFF
_SET_OFFLOAD = 0x400454D0  # TUNSETOFFLOAD
_TAP, _NO_PACKET_INFORMATION, _VIRTIO_HEADER = 0x0002, 0x1000, 0x4000
_CHECKSUM, _SEGMENTATION = 0x01, 0x02 | 0x04


def open_tap(name: str) -> int:
    """Make a TAP interface in the calling thread's network namespace; it lives as long as the descriptor returned.

    Raises `OSError`: the device is missing, the name is taken, or privileges are.
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
    """Have the kernel hand out frames of at most the MTU, 1500 bytes of content; returns what reads one."""
    fcntl.ioctl(descriptor, _SET_OFFLOAD, _CHECKSUM)
    return functools.partial(os.read, descriptor, _FRAME_READ)


def damaged(frame: bytes, bit: int) -> bytes:
    """The frame, as `expect_frames` reads it, with one bit of its content turned.

    Its header no longer says that the checksum may be filled in later, so that whoever receives it checks, and finds
    the damage: the transport drops the frame as it does on a real wire.
    """
    turned = bytearray(frame)
    turned[:HEADER_SIZE] = bytes(HEADER_SIZE)
    place = HEADER_SIZE + _ETHERNET_HEADER + bit // 8 % (len(frame) - HEADER_SIZE - _ETHERNET_HEADER)
    turned[place] ^= 1 << bit % 8
    return bytes(turned)


def expect_segments(descriptor: int) -> Callable[[], bytes]:
    """Let the kernel hand out up to 64 KiB of a TCP stream as one frame; returns what reads one."""
    fcntl.ioctl(descriptor, _SET_OFFLOAD, _CHECKSUM | _SEGMENTATION)
    buffer = bytearray(_SEGMENTS_READ)
    buffers, view = [buffer], memoryview(buffer)

    def read() -> bytes:
        # os.read would allocate 64 KiB to keep, most often, a few hundred bytes of it.
        return view[: os.readv(descriptor, buffers)].tobytes()

    return read
