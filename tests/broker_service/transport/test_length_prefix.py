"""Messages of a stream, cut into pieces of any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.floods import prefixed
from broker_service.transport.length_prefix import MessageSplitter, pack_prefix, read_prefix
from broker_service.transport.status import RpcError, StatusCode

LARGEST = 64


@given(messages=st.lists(st.binary(max_size=LARGEST)), cuts=st.lists(st.integers(1, 40)))
def test_messages_come_out_as_they_went_in_wherever_they_are_cut(messages: list[bytes], cuts: list[int]) -> None:
    data = b"".join(map(prefixed, messages))
    splitter = MessageSplitter(LARGEST)
    found: list[bytes] = []
    for cut in cuts:
        found += splitter.split(data[:cut])
        data = data[cut:]
    assert found + splitter.split(data) == messages


@given(length=st.integers(0, 1 << 31))
def test_a_prefix_is_read_as_it_was_made(length: int) -> None:
    prefix = pack_prefix(0, length)
    assert prefix == b"\0" + length.to_bytes(4, "big")
    assert read_prefix(prefix) == (0, length)


def test_a_message_above_the_largest_is_refused_by_its_prefix() -> None:
    with pytest.raises(RpcError, match="65 bytes exceeds the largest, 64") as refused:
        MessageSplitter(LARGEST).split(prefixed(bytes(LARGEST + 1))[:5])
    assert refused.value.code == StatusCode.RESOURCE_EXHAUSTED


def test_a_compressed_message_is_refused() -> None:
    with pytest.raises(RpcError, match="compressed"):
        MessageSplitter(LARGEST).split(b"\x01" + prefixed(b"x")[1:])
