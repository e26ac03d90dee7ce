"""Frames with data and window updates, as the library hyperframe writes and reads them."""

from __future__ import annotations

import pytest
from hyperframe.frame import DataFrame, Frame, WindowUpdateFrame
from hypothesis import given
from hypothesis import strategies as st

from broker_service.transport.frames import (
    DATA,
    END_STREAM,
    HEADER_BYTES,
    INCREMENT_BYTES,
    LARGEST_WINDOW,
    PADDED,
    WINDOW_UPDATE,
    PaddingError,
    end_of_data,
    pack_header,
    read_header,
    read_increment,
    unpadded,
    window_update,
)  # fmt: skip

STREAMS = st.integers(1, LARGEST_WINDOW)


@given(
    stream=STREAMS, data=st.binary(max_size=300), padding=st.none() | st.integers(0, 255), ends=st.booleans(),
    before=st.binary(max_size=5), after=st.binary(max_size=5),
)  # fmt: skip
def test_data_is_read_without_its_padding(
    stream: int, data: bytes, padding: int | None, ends: bool, before: bytes, after: bytes
) -> None:
    frame = DataFrame(stream, data)
    if padding is not None:
        frame.flags.add("PADDED")
        frame.pad_length = padding
    if ends:
        frame.flags.add("END_STREAM")
    written = frame.serialize()
    high, low, kind, flags, number = read_header(before + written + after, len(before))
    assert (kind, number, high << 8 | low) == (DATA, stream, len(written) - HEADER_BYTES)
    assert bool(flags & END_STREAM) == ends
    assert bool(flags & PADDED) == (padding is not None)
    content = written[HEADER_BYTES:]
    assert (unpadded(content) if flags & PADDED else content) == data


@pytest.mark.parametrize("content", [b"", b"\x01", b"\x04abc"])
def test_more_padding_than_content_is_refused(content: bytes) -> None:
    with pytest.raises(PaddingError):
        unpadded(content)


@given(stream=STREAMS, data=st.binary(max_size=70_000))
def test_data_is_written_as_a_library_does(stream: int, data: bytes) -> None:
    header = pack_header(len(data) >> 8, len(data) & 0xFF, DATA, 0, stream)
    assert header + data == DataFrame(stream, data).serialize()


@given(stream=STREAMS)
def test_an_end_is_data_without_content(stream: int) -> None:
    frame, length = Frame.parse_frame_header(memoryview(end_of_data(stream)))
    assert (type(frame), length, frame.stream_id, set(frame.flags)) == (DataFrame, 0, stream, {"END_STREAM"})


@given(stream=st.just(0) | STREAMS, increment=st.integers(1, LARGEST_WINDOW))
def test_window_updates_are_written_and_read_as_a_library_does(stream: int, increment: int) -> None:
    written = WindowUpdateFrame(stream, increment).serialize()
    assert window_update(stream, increment) == written
    assert read_header(written, 0) == (0, INCREMENT_BYTES, WINDOW_UPDATE, 0, stream)
    assert read_increment(written, HEADER_BYTES) == increment
