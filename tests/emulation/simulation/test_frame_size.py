"""Sizes of frames without their encoding: as long as on the wire, because links of a low rate notice."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_service.links.frames import Hello, LinkFrame, MessageFrame, Probe
from broker_service.messages import Kind, Message
from broker_service.transport.wire import encode_link_frame
from emulation.simulation.link_end import frame_size

HTTP_AND_GRPC = 9 + 5
"""Bytes of the headers of a DATA frame of HTTP/2 (RFC 9113, section 4.1) and of a length-prefixed gRPC message."""

CLOCK = st.integers(1 << 49, (1 << 56) - 1)
"""Nanoseconds for which a host has been up: a week to two years."""
TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
BYTES = st.binary(max_size=8) | st.integers(0, 20_000).map(bytes)
NUMBER = st.integers(0, 300) | st.integers(0, (1 << 64) - 1)
MESSAGES = st.builds(
    Message, st.sampled_from(Kind), TEXT, BYTES, BYTES, st.integers(0, 10_000), TEXT, st.just(0) | CLOCK
)
FRAMES = st.builds(
    MessageFrame,
    st.lists(MESSAGES, max_size=70),
    NUMBER,
    st.none() | st.builds(Probe, CLOCK, st.none() | CLOCK),
)
HELLOS = st.builds(
    Hello,
    broker=TEXT,
    incarnation=NUMBER,
    protocol=TEXT,
    neighbour_incarnation=NUMBER,
    handled=NUMBER,
    appearance=NUMBER,
)


@given(FRAMES | HELLOS)
@example(MessageFrame())
def test_a_frame_takes_as_many_bytes_as_its_encoding_and_headers(frame: LinkFrame) -> None:
    [content] = encode_link_frame(frame, 1 << 30)
    assert frame_size(frame) == len(content) + HTTP_AND_GRPC


@pytest.mark.parametrize("length", [1, 127, 128, 16_383, 16_384])
def test_lengths_at_which_a_varint_grows(length: int) -> None:
    frame = MessageFrame([Message(Kind.PUBLISH, "a" * length, bytes(length), bytes(length), length)] * 2, length)
    [content] = encode_link_frame(frame, 1 << 30)
    assert frame_size(frame) == len(content) + HTTP_AND_GRPC
