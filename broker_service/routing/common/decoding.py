"""Reading of neighbours' messages: their dispatch by kind, and the decoding of their headers and bodies.

Whatever cannot be read raises `MalformedMessageError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Final, TypeVar, overload

import msgspec

from broker_service.language import Advertisement, ContentError, Subscription, content
from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.interface import Actions, MalformedMessageError, Router

Receiver = Callable[[BrokerId, Message], Actions]

_Header = TypeVar("_Header")

encode_header: Callable[[Any], bytes] = msgspec.msgpack.Encoder().encode


MOST_HEADER_BYTES: Final = 1 << 24
"""Bytes of a header that has no bound of its own: all that the clients of one broker may declare by default. Processes
take no frame that is as long."""


class DispatchingRouter(Router):
    """A router with one receiver for each kind of message; messages of all other kinds are malformed."""

    def __init__(self, receivers: Mapping[Kind, Receiver]) -> None:
        self._receivers = dict.fromkeys(Kind, _refuse) | dict(receivers)

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        return self._receivers[message.kind](neighbour, message)


def _refuse(neighbour: BrokerId, message: Message) -> Actions:
    raise MalformedMessageError(f"the protocol has no messages of kind {message.kind.word}")


@overload
def header_decoder(kind: type[_Header], most_bytes: int = ...) -> Callable[[bytes], _Header]: ...
@overload
def header_decoder(kind: UnionType, most_bytes: int = ...) -> Callable[[bytes], Any]: ...
def header_decoder(kind: type[_Header] | UnionType, most_bytes: int = MOST_HEADER_BYTES) -> Callable[[bytes], Any]:
    """The function that decodes headers of one struct type, or of a union of tagged ones.

    A longer header than `most_bytes` is refused before anything of it is decoded.
    """
    decode = msgspec.msgpack.Decoder(kind).decode

    def decode_header(header: bytes) -> Any:
        if len(header) > most_bytes:
            raise MalformedMessageError(f"a header of {len(header)} bytes, of which it may have {most_bytes}")
        try:
            return decode(header)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedMessageError(str(error)) from None

    return decode_header


def decode_advertisement(body: bytes) -> Advertisement:
    """The advertisement in the body of a message."""
    try:
        return content.decode_advertisement(body)
    except ContentError as error:
        raise MalformedMessageError(str(error)) from None


def decode_subscription(body: bytes) -> Subscription:
    """The subscription in the body of a message."""
    try:
        return content.decode_subscription(body)
    except ContentError as error:
        raise MalformedMessageError(str(error)) from None
