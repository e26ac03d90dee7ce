"""Decoding of what neighbours send. Whatever cannot be decoded raises `MalformedMessageError`."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any, TypeVar, overload

import msgspec

from broker_service.errors import MalformedMessageError
from broker_service.language import Advertisement, ContentError, Subscription, wire

_Header = TypeVar("_Header")

encode_header: Callable[[Any], bytes] = msgspec.msgpack.Encoder().encode


@overload
def header_decoder(kind: type[_Header]) -> Callable[[bytes], _Header]: ...
@overload
def header_decoder(kind: UnionType) -> Callable[[bytes], Any]: ...
def header_decoder(kind: type[_Header] | UnionType) -> Callable[[bytes], Any]:
    """The function that decodes headers of one struct type, or of a union of tagged ones."""
    decode = msgspec.msgpack.Decoder(kind).decode

    def decode_header(header: bytes) -> Any:
        try:
            return decode(header)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedMessageError(str(error)) from None

    return decode_header


def decode_advertisement(body: bytes) -> Advertisement:
    """The advertisement in the body of a message."""
    try:
        return Advertisement(wire.decode_predicates(body))
    except ContentError as error:
        raise MalformedMessageError(str(error)) from None


def decode_subscription(body: bytes) -> Subscription:
    """The subscription in the body of a message."""
    try:
        return wire.decode_subscription(body)
    except ContentError as error:
        raise MalformedMessageError(str(error)) from None
