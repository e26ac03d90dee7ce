"""Floods of one hostile end of a connection: legal HTTP/2 that means nothing and makes its receiver work."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import h2.config
import h2.connection

from broker_service.transport.frames import DATA, window_update
from broker_service.transport.methods import LINK

PATH_OF_NONE = "/no.Service/Method"
_HEADER = struct.Struct(">HBBBL")
_PREFIX = struct.Struct(">BI")
_SETTING = struct.Struct(">HL")
_PING, _SETTINGS, _INITIAL_WINDOW = 0x6, 0x4, 0x4


def frame(kind: int, content: bytes, stream: int = 0) -> bytes:
    """A frame without flags."""
    return _HEADER.pack(len(content) >> 8, len(content) & 0xFF, kind, 0, stream) + content


def data_header(stream: int, length: int) -> bytes:
    """The header of a frame with this many bytes of data."""
    return _HEADER.pack(length >> 8, length & 0xFF, DATA, 0, stream)


def prefixed(message: bytes) -> bytes:
    """The bytes of an uncompressed message of gRPC."""
    return _PREFIX.pack(0, len(message)) + message


def request(path: str = LINK.path) -> list[tuple[str, str]]:
    return [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "x"),
        ("content-type", "application/grpc"),
    ]


class HostileEnd:
    """The client's end of a connection, which h2 writes as far as it agrees to."""

    def __init__(self) -> None:
        configuration = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self._http2 = h2.connection.H2Connection(configuration)
        self._http2.initiate_connection()
        self._next = 1

    def greeting(self, streams: int) -> bytes:
        """Bytes that begin the connection and open some streams."""
        for _ in range(streams):
            self.open()
        return self._http2.data_to_send()

    def open(self, path: str = LINK.path) -> int:
        number, self._next = self._next, self._next + 2
        self._http2.send_headers(number, request(path))
        return number

    def opened(self, path: str, times: int) -> bytes:
        """Streams that are opened one after another."""
        for _ in range(times):
            self.open(path)
        return self._http2.data_to_send()

    def referring(self, times: int) -> bytes:
        """Streams each of whose headers names a hundred headers that were sent before, in a byte each."""
        for _ in range(times):
            number, self._next = self._next, self._next + 2
            self._http2.send_headers(number, [*request(), *([("te", "trailers")] * 100)])
            self._http2.reset_stream(number)
        return self._http2.data_to_send()

    def opened_and_reset(self, times: int) -> bytes:
        """The "rapid reset" of CVE-2023-44487."""
        for _ in range(times):
            self._http2.reset_stream(self.open())
        return self._http2.data_to_send()


@dataclass(frozen=True, slots=True)
class Flood:
    """One way to make the other end work."""

    data: Callable[[HostileEnd, int], bytes]
    """About so many bytes of it, or enough of it, for a connection whose streams are numbered from 1."""
    streams: int = 0
    """Streams that are open before."""
    refused: bool = True
    """True when one read of it is more than a connection may send."""


def repeated(unit: bytes) -> Callable[[HostileEnd, int], bytes]:
    return lambda _end, size: unit * (size // len(unit))


_WINDOWS = b"".join(frame(_SETTINGS, _SETTING.pack(_INITIAL_WINDOW, size)) for size in (0, (1 << 31) - 1))

FLOODS: Mapping[str, Flood] = {
    "pings": Flood(repeated(frame(_PING, b"12345678"))),
    "empty settings": Flood(repeated(frame(_SETTINGS, b""))),
    "windows by settings": Flood(repeated(_WINDOWS), streams=90),
    "window of the connection": Flood(repeated(window_update(0, 1)), streams=90),
    "window of a stream": Flood(repeated(window_update(1, 1)), streams=1),
    "rapid resets": Flood(lambda end, _size: end.opened_and_reset(300)),
    "rapid resets beside open streams": Flood(lambda end, _size: end.opened_and_reset(300), streams=90),
    "references to headers": Flood(lambda end, _size: end.referring(150)),
    "unknown methods": Flood(lambda end, _size: end.opened(PATH_OF_NONE, 90), refused=False),
    "data without bytes": Flood(repeated(data_header(1, 0)), streams=1),
    "data of a stream that has ended": Flood(
        lambda end, size: end.opened_and_reset(1) + data_header(1, 0) * (size // 9)
    ),
    "messages without bytes": Flood(repeated(data_header(1, 5_000) + prefixed(b"") * 1_000), streams=1),
    "messages of a byte": Flood(repeated(data_header(1, 6_000) + prefixed(b"x") * 1_000), streams=1),
}
