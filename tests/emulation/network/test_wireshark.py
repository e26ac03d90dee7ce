"""The profile decodes messages on a link, in the middle of its stream, to what brokers wrote."""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path

import pytest

from broker_service.generated.broker_pb2 import LinkFrame
from emulation.network.wireshark import DEFINITIONS, write_profile
from record.errors import BadInputError
from tests.emulation.network.tshark import require_tshark, tshark

_RAW_IP = 101
_DIALLED, _LISTENING = 40_000, 7_000


def segment(payload: bytes, *, number: int, answer: bool) -> bytes:
    """An IPv4 packet with a segment of an open TCP connection between a link's ends."""
    ends = [(socket.inet_aton("10.0.0.1"), _DIALLED), (socket.inet_aton("10.0.0.2"), _LISTENING)]
    (source, source_port), (target, target_port) = reversed(ends) if answer else ends
    tcp = struct.pack(">HHIIBBHHH", source_port, target_port, number, 1, 5 << 4, 0x18, 65_000, 0, 0)
    length = 20 + len(tcp) + len(payload)
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, 6, 0, source, target) + tcp + payload


def data(frame: LinkFrame) -> bytes:
    """A DATA frame of HTTP/2 with one gRPC message."""
    message = frame.SerializeToString()
    body = struct.pack(">BI", 0, len(message)) + message
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", 0, 0, 1) + body


def captured(file: Path) -> None:
    """Writes a capture of two frames in the middle of a stream."""
    there = LinkFrame()
    message = there.messages.add(kind=5, id="P1:7", body=b"content", hops=3, published=12_345)
    assert message.hops == 3
    packets = [
        segment(data(there), number=1, answer=False),
        segment(data(LinkFrame(acknowledged=9)), number=1, answer=True),
    ]
    with file.open("wb") as written:
        written.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, _RAW_IP))
        for second, packet in enumerate(packets):
            written.write(struct.pack("<IIII", second, 0, len(packet), len(packet)) + packet)


def decoded(directory: Path, profile: Path) -> list[str]:
    captured(directory / "link.pcap")
    return re.findall(r"Field\(\d+\): (\w+ = .*) \(", tshark(directory / "link.pcap", profile, "-O", "protobuf"))


def test_messages_in_the_middle_of_a_stream_are_decoded(tmp_path: Path) -> None:
    require_tshark()
    write_profile(tmp_path / 'a "profile"', _LISTENING)
    write_profile(tmp_path / 'a "profile"', _LISTENING)
    assert decoded(tmp_path, tmp_path / "a \"profile\"") == [
        "kind = PUBLISH(5)", "id = P1:7", "hops = 3", "published = 12345", "acknowledged = 9",
    ]  # fmt: skip


def test_other_definitions_are_seen(tmp_path: Path) -> None:
    """Definitions that brokers do not write by decode to something else, so that the comparison proves something."""
    require_tshark()
    write_profile(tmp_path, _LISTENING)
    wire = tmp_path / "proto" / DEFINITIONS[0]
    wire.write_text(wire.read_text().replace("uint32 hops = 5;", "uint32 hops = 15;"))
    assert "hops = 3" not in decoded(tmp_path, tmp_path)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError):
        write_profile(tmp_path / "file", _LISTENING)
