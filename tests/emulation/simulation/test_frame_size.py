"""A simulated frame is as long as a real one: links of a low rate notice."""

from __future__ import annotations

import pytest

from broker_service.links.frames import MessageFrame
from broker_service.messages import Kind, Message
from broker_service.transport.wire import encode_link_frame
from emulation.simulation.link_end import FRAME_BYTES, MESSAGE_BYTES, STAMP_BYTES

HTTP_AND_GRPC = 9 + 5
"""Bytes of the headers of a DATA frame of HTTP/2 (RFC 9113, section 4.1) and of a length-prefixed gRPC message."""


@pytest.mark.parametrize("count", [1, 2, 10, 50])
def test_a_frame_is_as_long_as_on_the_wire(count: int) -> None:
    messages = [
        Message(Kind.PUBLISH, f"P1:{number:03}", b"x" * 100, b"h" * 45, 2, published=10**15 + number)
        for number in range(count)
    ]
    [frame] = encode_link_frame(MessageFrame(messages, 100), 1 << 20)
    modelled = FRAME_BYTES + sum(
        MESSAGE_BYTES + STAMP_BYTES + len(m.id) + len(m.body) + len(m.header) for m in messages
    )
    assert modelled == pytest.approx(len(frame) + HTTP_AND_GRPC, rel=0.01)
