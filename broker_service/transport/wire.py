"""Encoding and decoding of the frames of proto/broker.proto, between bytes and the plain values of `messages`.

Decoding trusts no sender: bytes that are not a frame, that name an unknown kind or operation, or that break a bound
below raise `MalformedFrameError`. Encoding splits a frame that would exceed the largest one its receiver takes.

Repeated fields are read as lists (`[:]`), because the end of their own iteration is an error that protobuf puts into
words: it takes as long as a message, and half the time of a whole frame where the processor's caches are cold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from google.protobuf.message import DecodeError

from broker_service.generated import broker_pb2 as pb
from broker_service.links.frames import Hello, LinkFrame, MessageFrame, Probe
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

FRAME_OVERHEAD = 1 << 16
"""Bytes that routing headers may add to a client's message on its way."""

MOST_IN_FRAME = 1 << 12
"""Messages, requests or events in one frame, because an item takes few bytes there and hundreds in memory, and because
a frame is decoded as a whole while all other streams wait."""

LONGEST_NAME = 256
"""Code points of a client's name, and of its name for an advertisement, a subscription or a publication. Names stand in
tables, log records and answers, so the answers to one frame of long names would take many times its size."""

_KINDS = {int(kind): kind for kind in Kind}
_OPERATIONS = {int(operation): operation for operation in Operation}
_OUTCOMES = {int(outcome): outcome for outcome in Outcome}

_Item = TypeVar("_Item")


class MalformedFrameError(ValueError):
    """The bytes that came in are not a frame of this service."""


class TooManyItemsError(MalformedFrameError):
    """A frame has more items than one may have."""

    def __init__(self, items: int) -> None:
        super().__init__(f"{items} items in one frame, which takes at most {MOST_IN_FRAME}")


def decode_link_frame(data: bytes) -> LinkFrame:
    """A frame of a link: a hello, or messages with an acknowledgement."""
    try:
        frame = pb.LinkFrame.FromString(data)
        if len(frame.messages) > MOST_IN_FRAME:
            raise TooManyItemsError(len(frame.messages))
        kinds = _KINDS
        messages: list[Message] = []
        for item in frame.messages[:]:  # a comprehension would be one more call for each frame
            messages.append(
                Message(kinds[item.kind], item.id, item.body, item.header, item.hops, item.label, item.published)
            )
    except (DecodeError, KeyError) as error:
        raise MalformedFrameError(_describe(error)) from None
    if frame.HasField("hello"):
        return _hello(frame)
    return MessageFrame(messages, frame.acknowledged, _probe(frame.probe) if frame.HasField("probe") else None)


def decode_hello(data: bytes) -> Hello:
    """The first frame of a stream."""
    frame = decode_link_frame(data)
    if not isinstance(frame, Hello):
        raise MalformedFrameError("the first frame of a link is no hello")
    return frame


def encode_link_frame(frame: LinkFrame, largest: int) -> list[bytes]:
    """One frame, or several where one would be too large."""
    if isinstance(frame, Hello):
        return [_hello_frame(frame)]
    messages, probe = frame.messages, frame.probe
    if len(messages) <= MOST_IN_FRAME:
        encoded = pb.LinkFrame(acknowledged=frame.acknowledged)
        if probe is not None:
            encoded.probe.time = probe.time
            if probe.echo is not None:
                encoded.probe.echo = probe.echo
        add = encoded.messages.add
        for message in messages:
            added = add(
                kind=message.kind,
                id=message.id,
                body=message.body,
                header=message.header,
                hops=message.hops,
                published=message.published,
            )
            if message.label:
                added.label = message.label
        data = encoded.SerializeToString()
        if len(data) <= largest or len(messages) <= 1:
            return [data]
    return _halved(lambda half: encode_link_frame(MessageFrame(half, frame.acknowledged, probe), largest), messages)


def decode_client_frame(data: bytes) -> ClientFrame:
    try:
        frame = pb.ClientFrame.FromString(data)
        if len(frame.requests) > MOST_IN_FRAME:
            raise TooManyItemsError(len(frame.requests))
        operations = _OPERATIONS
        requests: list[ClientRequest] = []
        for item in frame.requests[:]:
            client, id = item.client, item.id
            if len(client) > LONGEST_NAME or len(id) > LONGEST_NAME:
                raise MalformedFrameError(f"a name of more than {LONGEST_NAME} characters")
            operation = operations[item.operation]
            requests.append(ClientRequest(client, item.number, operation, id, item.body, item.published))
    except (DecodeError, KeyError) as error:
        raise MalformedFrameError(_describe(error)) from None
    if len(frame.session) > LONGEST_NAME:
        raise MalformedFrameError(f"a name of more than {LONGEST_NAME} characters")
    return ClientFrame(requests, frame.session, frame.numbered, frame.acknowledged)


def encode_client_frames(requests: Sequence[ClientRequest], largest: int) -> list[bytes]:
    """Frames with a client's requests, none of which is larger than the largest one that the broker takes."""
    if len(requests) <= MOST_IN_FRAME:
        frame = pb.ClientFrame()
        add = frame.requests.add
        for item in requests:
            add(
                client=item.client,
                number=item.number,
                operation=item.operation,
                id=item.id,
                body=item.body,
                published=item.published,
            )
        data = frame.SerializeToString()
        if len(data) <= largest or len(requests) <= 1:
            return [data]
    return _halved(lambda half: encode_client_frames(half, largest), requests)


def encode_first_frame(first: ClientFrame) -> bytes:
    """The client's first frame on a stream, which has no requests."""
    return pb.ClientFrame(session=first.session, numbered=first.numbered).SerializeToString()


def encode_processed(number: int) -> bytes:
    """A frame that acknowledges the notifications up to this number."""
    return pb.ClientFrame(acknowledged=number).SerializeToString()


def decode_broker_frame(data: bytes) -> BrokerFrame:
    try:
        frame = pb.BrokerFrame.FromString(data)
        if len(frame.events) > MOST_IN_FRAME:
            raise TooManyItemsError(len(frame.events))
        outcomes = _OUTCOMES
        events: list[ClientEvent] = []
        for item in frame.events[:]:
            body, position = item.body, None
            if item.HasField("position"):
                position = StreamPosition(item.position.stream, item.position.position)
            publications = () if body or not item.publications else _publications(item)
            events.append(
                ClientEvent(
                    outcomes[item.outcome], tuple(item.clients[:]), item.number, item.id, body, item.hops, item.reason,
                    position, publications,
                )
            )  # fmt: skip
    except (DecodeError, KeyError) as error:
        raise MalformedFrameError(_describe(error)) from None
    welcome = None
    if frame.HasField("welcome"):
        welcome = Welcome(frame.welcome.incarnation, frame.welcome.recognises_repeats, frame.welcome.announces_starts)
    return BrokerFrame(events, welcome, frame.acknowledged)


def encode_broker_frame(frame: BrokerFrame, largest: int) -> list[bytes]:
    """One frame, or several where one would be too large; the last one acknowledges."""
    parts = _event_frames(frame.events, largest) if frame.events else []
    if frame.welcome is not None:
        parts.append(_welcome_frame(frame.welcome))
    if frame.acknowledged:
        parts.append(pb.BrokerFrame(acknowledged=frame.acknowledged).SerializeToString())
    return parts


def _publications(event: pb.ClientEvent) -> tuple[ConstituentPublication, ...]:
    """The publications of an event without a body. A notification of a single publication has none of them."""
    return tuple([ConstituentPublication(publication.id, publication.body) for publication in event.publications[:]])


def _hello(frame: pb.LinkFrame) -> Hello:
    hello = frame.hello
    if not hello.broker:
        raise MalformedFrameError("a hello without the broker's name")
    if not hello.incarnation:
        raise MalformedFrameError("a hello without the broker's incarnation, which counts from 1")
    if frame.messages or frame.acknowledged or frame.HasField("probe"):
        raise MalformedFrameError("a hello with messages, an acknowledgement or a probe")
    return Hello(
        broker=hello.broker,
        incarnation=hello.incarnation,
        protocol=hello.protocol,
        neighbour_incarnation=hello.neighbour_incarnation,
        handled=hello.handled,
        appearance=hello.appearance or 1,
    )


def _hello_frame(hello: Hello) -> bytes:
    return pb.LinkFrame(
        hello=pb.Hello(
            broker=hello.broker,
            incarnation=hello.incarnation,
            protocol=hello.protocol,
            neighbour_incarnation=hello.neighbour_incarnation,
            handled=hello.handled,
            appearance=hello.appearance,
        )
    ).SerializeToString()


def _probe(probe: pb.Probe) -> Probe:
    return Probe(probe.time, probe.echo if probe.HasField("echo") else None)


def _welcome_frame(welcome: Welcome) -> bytes:
    return pb.BrokerFrame(
        welcome=pb.Welcome(
            incarnation=welcome.incarnation,
            recognises_repeats=welcome.recognises_repeats,
            announces_starts=welcome.announces_starts,
        )
    ).SerializeToString()


def _event_frames(events: Sequence[ClientEvent], largest: int) -> list[bytes]:
    if len(events) <= MOST_IN_FRAME:
        frame = pb.BrokerFrame()
        add = frame.events.add
        for item in events:
            added = add(
                outcome=item.outcome,
                clients=item.clients,
                number=item.number,
                id=item.id,
                body=item.body,
                hops=item.hops,
            )
            if item.reason:
                added.reason = item.reason
            if item.position is not None:
                added.position.stream, added.position.position = item.position.stream, item.position.position
            for publication in item.publications:
                added.publications.add(id=publication.id, body=publication.body)
        data = frame.SerializeToString()
        if len(data) <= largest or len(events) <= 1:
            return [data]
    return _halved(lambda half: _event_frames(half, largest), events)


def _halved(encode: Callable[[Sequence[_Item]], list[bytes]], items: Sequence[_Item]) -> list[bytes]:
    """The frames of items that are too large or too many for one; a single item travels alone whatever its size."""
    middle = len(items) // 2
    return encode(items[:middle]) + encode(items[middle:])


def _describe(error: DecodeError | KeyError) -> str:
    if isinstance(error, KeyError):
        return f"unknown code {error.args[0]}"
    return "not a protobuf message of this service"
