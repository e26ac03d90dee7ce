"""Frames: what is encoded decodes to the same, in pieces no larger than asked, and nothing else decodes at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.generated import broker_pb2 as pb
from broker_service.links.frames import Hello, MessageFrame, Probe
from broker_service.messages import (
    BrokerFrame,
    ClientEvent,
    ClientFrame,
    ClientRequest,
    ConstituentPublication,
    Kind,
    Message,
    Operation,
    Outcome,
    StreamPosition,
    Welcome,
)
from broker_service.transport.wire import (
    LONGEST_NAME,
    MOST_IN_FRAME,
    MalformedFrameError,
    decode_broker_frame,
    decode_client_frame,
    decode_hello,
    decode_link_frame,
    encode_broker_frame,
    encode_client_frames,
    encode_first_frame,
    encode_link_frame,
    encode_processed,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
BYTES = st.binary(max_size=40)
NUMBER = st.integers(0, 2**64 - 1)
HOPS = st.integers(0, 2**32 - 1)
MESSAGES = st.lists(st.builds(Message, st.sampled_from(Kind), TEXT, BYTES, BYTES, HOPS, TEXT, NUMBER), max_size=20)
REQUESTS = st.lists(
    st.builds(ClientRequest, TEXT, NUMBER, st.sampled_from(Operation), TEXT, BYTES, NUMBER), max_size=20
)
CLIENTS = st.lists(TEXT, max_size=3).map(tuple)
POSITIONS = st.none() | st.builds(StreamPosition, TEXT, NUMBER)
CONSTITUENTS = st.lists(st.builds(ConstituentPublication, TEXT, BYTES), max_size=3).map(tuple)
EVENTS = st.lists(
    st.builds(ClientEvent, st.sampled_from(Outcome), CLIENTS, NUMBER, TEXT, BYTES, HOPS, TEXT, POSITIONS)
    | st.builds(ClientEvent, st.just(Outcome.NOTIFIED), CLIENTS, id=TEXT, publications=CONSTITUENTS),
    max_size=20,
)
LARGEST = st.integers(1, 400)


def fits(frames: list[bytes], largest: int, items: list[int]) -> bool:
    """Every frame is small enough, or holds but one item."""
    return all(len(frame) <= largest or held <= 1 for frame, held in zip(frames, items, strict=True))


@given(MESSAGES, NUMBER, st.none() | st.builds(Probe, NUMBER, st.none() | NUMBER), LARGEST)
def test_link_frames(messages: list[Message], acknowledged: int, probe: Probe | None, largest: int) -> None:
    frames = encode_link_frame(MessageFrame(messages, acknowledged, probe), largest)
    decoded = [frame for frame in map(decode_link_frame, frames) if isinstance(frame, MessageFrame)]
    assert len(decoded) == len(frames)
    assert [message for part in decoded for message in part.messages] == messages
    assert {(part.acknowledged, part.probe) for part in decoded} == {(acknowledged, probe)}
    assert fits(frames, largest, [len(part.messages) for part in decoded])


@given(REQUESTS, LARGEST)
def test_client_frames(requests: list[ClientRequest], largest: int) -> None:
    frames = encode_client_frames(requests, largest)
    decoded = [decode_client_frame(frame) for frame in frames]
    assert [request for part in decoded for request in part.requests] == requests
    assert fits(frames, largest, [len(part.requests) for part in decoded])


@given(EVENTS, NUMBER, LARGEST)
def test_broker_frames(events: list[ClientEvent], acknowledged: int, largest: int) -> None:
    """An acknowledgement comes behind all events."""
    frames = encode_broker_frame(BrokerFrame(events, acknowledged=acknowledged), largest)
    decoded = [decode_broker_frame(frame) for frame in frames]
    assert [event for part in decoded for event in part.events] == events
    assert [part.acknowledged for part in decoded if not part.events] == ([acknowledged] if acknowledged else [])
    assert {part.acknowledged for part in decoded if part.events} <= {0}
    assert fits(frames, largest, [len(part.events) for part in decoded])


def test_the_first_frames_of_a_session() -> None:
    for welcome in (Welcome(3), Welcome(1, recognises_repeats=True), Welcome(1, announces_starts=True)):
        [frame] = encode_broker_frame(BrokerFrame(welcome=welcome), 1)
        assert decode_broker_frame(frame) == BrokerFrame([], welcome)
    assert decode_client_frame(encode_first_frame(ClientFrame([], "ab"))) == ClientFrame([], "ab")
    numbered = ClientFrame([], "ab", numbered=True)
    assert decode_client_frame(encode_first_frame(numbered)) == numbered
    assert decode_client_frame(encode_processed(7)) == ClientFrame([], acknowledged=7)
    with pytest.raises(MalformedFrameError, match="256 characters"):
        decode_client_frame(encode_first_frame(ClientFrame([], "a" * (LONGEST_NAME + 1))))


@given(st.binary(min_size=1))
def test_bytes_from_anywhere_are_refused_or_read_but_never_anything_else(data: bytes) -> None:
    for decode in (decode_link_frame, decode_client_frame, decode_broker_frame, decode_hello):
        try:
            decode(data)
        except MalformedFrameError:
            continue


@pytest.mark.parametrize("code", [0, 99])
def test_codes_that_do_not_exist(code: int) -> None:
    with pytest.raises(MalformedFrameError, match=f"unknown code {code}"):
        decode_link_frame(pb.LinkFrame(messages=[pb.Message(kind=code)]).SerializeToString())
    with pytest.raises(MalformedFrameError, match=f"unknown code {code}"):
        decode_client_frame(pb.ClientFrame(requests=[pb.ClientRequest(operation=code)]).SerializeToString())
    with pytest.raises(MalformedFrameError, match=f"unknown code {code}"):
        decode_broker_frame(pb.BrokerFrame(events=[pb.ClientEvent(outcome=code)]).SerializeToString())


@pytest.mark.parametrize(
    ("decode", "frame", "message"),
    [
        (decode_link_frame, pb.LinkFrame(messages=[pb.Message(kind=5)] * (MOST_IN_FRAME + 1)), "4097 items"),
        (decode_client_frame, pb.ClientFrame(requests=[pb.ClientRequest(operation=1)] * (MOST_IN_FRAME + 1)), "4097"),
        (decode_broker_frame, pb.BrokerFrame(events=[pb.ClientEvent(outcome=1)] * (MOST_IN_FRAME + 1)), "4097"),
        (decode_hello, pb.LinkFrame(hello=pb.Hello(incarnation=1)), "without the broker's name"),
        (decode_hello, pb.LinkFrame(hello=pb.Hello(broker="B1")), "counts from 1"),
        (decode_hello, pb.LinkFrame(hello=pb.Hello(broker="B1", incarnation=1), acknowledged=1), "with messages, an"),
        (
            decode_client_frame,
            pb.ClientFrame(requests=[pb.ClientRequest(operation=1, client="c" * (LONGEST_NAME + 1))]),
            "256 characters",
        ),
        (
            decode_client_frame,
            pb.ClientFrame(requests=[pb.ClientRequest(operation=7, client="c", id="i" * (LONGEST_NAME + 1))]),
            "256 characters",
        ),
    ],
)
def test_frames_that_break_a_bound(decode: Callable[[bytes], object], frame: Any, message: str) -> None:
    with pytest.raises(MalformedFrameError, match=message):
        decode(frame.SerializeToString())


def test_hello() -> None:
    hello = Hello(broker="B1", incarnation=2, protocol="tid", neighbour_incarnation=3, handled=4)
    (frame,) = encode_link_frame(hello, 1)
    assert decode_hello(frame) == decode_link_frame(frame) == hello


def test_a_first_frame_without_hello() -> None:
    with pytest.raises(MalformedFrameError, match="hello"):
        decode_hello(encode_link_frame(MessageFrame([Message(Kind.PUBLISH, "p")]), 1000)[0])


def test_more_than_a_frame_takes_travels_in_several() -> None:
    messages = [Message(Kind.PUBLISH, str(number)) for number in range(MOST_IN_FRAME + 1)]
    frames = encode_link_frame(MessageFrame(messages, 3), 1 << 30)
    decoded = [decode_link_frame(frame) for frame in frames]
    assert [message for part in decoded if isinstance(part, MessageFrame) for message in part.messages] == messages
