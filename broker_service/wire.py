"""Between the plain values of `messages` and the frames of proto/broker.proto.

Decoding trusts nobody: a frame that is no frame, or names a kind or an operation that does not exist, raises
`MalformedFrameError`. Encoding splits what would exceed the largest frame its receiver takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from google.protobuf.message import DecodeError

from broker_service.generated import broker_pb2 as pb
from broker_service.messages import ClientEvent, ClientRequest, Kind, Message, Operation, Outcome

FRAME_OVERHEAD = 1 << 16
"""Bytes that routing headers may add to a client's message on its way."""

_KINDS = {int(kind): kind for kind in Kind}
_OPERATIONS = {int(operation): operation for operation in Operation}
_OUTCOMES = {int(outcome): outcome for outcome in Outcome}

_Item = TypeVar("_Item")


class MalformedFrameError(ValueError):
    """What came in is not a frame of this service."""


def decode_link_frame(data: bytes) -> tuple[list[Message], int]:
    """The messages of a frame, and how many of the receiver's own the sender has handled."""
    try:
        frame = pb.LinkFrame.FromString(data)
        kinds = _KINDS
        messages = [Message(kinds[each.kind], each.id, each.body, each.header, each.hops) for each in frame.messages]
    except (DecodeError, KeyError) as error:
        raise MalformedFrameError(_describe(error)) from None
    return messages, frame.acknowledged


def decode_hello(data: bytes) -> pb.Hello:
    """The first frame of a stream."""
    try:
        frame = pb.LinkFrame.FromString(data)
    except DecodeError as error:
        raise MalformedFrameError(_describe(error)) from None
    if not frame.HasField("hello") or not frame.hello.broker:
        raise MalformedFrameError("the first frame of a link says no hello")
    return frame.hello


def encode_hello(hello: pb.Hello) -> bytes:
    return pb.LinkFrame(hello=hello).SerializeToString()


def encode_link_frames(messages: Sequence[Message], acknowledged: int, largest: int) -> list[bytes]:
    """One frame, or several where one would be too large."""
    return _split(messages, largest, lambda part: _link_frame(part, acknowledged))


def decode_client_frame(data: bytes) -> list[ClientRequest]:
    try:
        operations = _OPERATIONS
        return [
            ClientRequest(each.client, each.number, operations[each.operation], each.id, each.body)
            for each in pb.ClientFrame.FromString(data).requests
        ]
    except (DecodeError, KeyError) as error:
        raise MalformedFrameError(_describe(error)) from None


def encode_client_frames(requests: Sequence[ClientRequest], largest: int) -> list[bytes]:
    return _split(requests, largest, _client_frame)


def decode_broker_frame(data: bytes) -> list[ClientEvent]:
    try:
        outcomes = _OUTCOMES
        return [
            ClientEvent(
                outcomes[each.outcome], tuple(each.clients), each.number, each.id, each.body, each.hops, each.reason
            )
            for each in pb.BrokerFrame.FromString(data).events
        ]
    except (DecodeError, KeyError) as error:
        raise MalformedFrameError(_describe(error)) from None


def encode_broker_frames(events: Sequence[ClientEvent], largest: int) -> list[bytes]:
    return _split(events, largest, _broker_frame)


def _link_frame(messages: Sequence[Message], acknowledged: int) -> bytes:
    frame = pb.LinkFrame(acknowledged=acknowledged)
    add = frame.messages.add
    for message in messages:
        add(kind=message.kind, id=message.id, body=message.body, header=message.header, hops=message.hops)
    return frame.SerializeToString()


def _client_frame(requests: Sequence[ClientRequest]) -> bytes:
    frame = pb.ClientFrame()
    add = frame.requests.add
    for each in requests:
        add(client=each.client, number=each.number, operation=each.operation, id=each.id, body=each.body)
    return frame.SerializeToString()


def _broker_frame(events: Sequence[ClientEvent]) -> bytes:
    frame = pb.BrokerFrame()
    add = frame.events.add
    for each in events:
        add(
            outcome=each.outcome,
            clients=each.clients,
            number=each.number,
            id=each.id,
            body=each.body,
            hops=each.hops,
            reason=each.reason,
        )
    return frame.SerializeToString()


def _split(items: Sequence[_Item], largest: int, encode: Callable[[Sequence[_Item]], bytes]) -> list[bytes]:
    """Halves what is too large; a single item travels alone whatever its size."""
    data = encode(items)
    if len(data) <= largest or len(items) <= 1:
        return [data]
    middle = len(items) // 2
    return _split(items[:middle], largest, encode) + _split(items[middle:], largest, encode)


def _describe(error: DecodeError | KeyError) -> str:
    if isinstance(error, KeyError):
        return f"unknown code {error.args[0]}"
    return "not a protobuf message of this service"
