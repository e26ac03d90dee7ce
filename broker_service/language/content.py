"""Content of messages: publications, the tests of predicates on them, and the bytes of both.

Bytes are the messages of proto/content.proto. Input is not trusted: bytes that do not decode to a value of the model
raise `ContentError`, which gives the reason. An integer travels as such within 64 bits and as decimal digits beyond.
Decoding and comparing a publication is on every publication's way, so these loops are written for speed. The model does
the checking of predicates.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from types import MappingProxyType
from typing import Any, Final

from google.protobuf.message import DecodeError

from broker_service.generated.content_pb2 import Content, Predicates
from broker_service.generated.content_pb2 import Value as WireValue
from broker_service.language.model import (
    CLASS,
    MAX_ADVERTISED_PREDICATES,
    MAX_ATTRIBUTES,
    MAX_INTEGER_DIGITS,
    MAX_NAME_LENGTH,
    Advertisement,
    ContentError,
    Operator,
    Predicate,
    Subscription,
    Value,
    check_name,
    check_value,
    operator_named,
    shortened,
)

_INT64_LOW, _INT64_HIGH = -(1 << 63), (1 << 63) - 1

_KEPT: Final = 4_096
"""Small advertisements, and small subscriptions, that are kept once they were decoded."""
_SMALL: Final = 256
"""Bytes of a small one, at most, so that those that are kept take few megabytes."""


@dataclass(frozen=True, slots=True)
class Publication:
    """The content of one publication."""

    attributes: Mapping[str, Value]

    def __post_init__(self) -> None:
        attributes = self.attributes
        if type(attributes.get(CLASS)) is not str:
            raise _class_trouble(attributes)
        if len(attributes) > MAX_ATTRIBUTES:
            raise ContentError(f"{len(attributes)} attributes", f"a publication takes at most {MAX_ATTRIBUTES}")
        # Every publication passes here, so the common valid cases are tested first and inline.
        for name, value in attributes.items():
            kind = type(value)
            if not (
                (kind is float and isfinite(value))  # type: ignore[arg-type]  # mypy does not narrow by `kind is`
                or (kind is str and value.isascii())  # type: ignore[union-attr]
                or (kind is int and _INT64_LOW <= value <= _INT64_HIGH)  # type: ignore[operator]
            ):
                check_value(name, value)
            if not (type(name) is str and 0 < len(name) <= MAX_NAME_LENGTH and name.isascii()):
                check_name(name)


def _class_trouble(attributes: Mapping[str, Value]) -> ContentError:
    if CLASS in attributes:
        return ContentError(
            f"the attribute {CLASS!r} must be a string, not {shortened(attributes[CLASS])}", "put it in quotes"
        )
    return ContentError(f"a publication must carry the attribute {CLASS!r}", "add for example [class,'STOCK']")


# Tests


def _present(_value: Value, _sample: Value) -> bool:
    return True


TESTS: Mapping[Operator, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        Operator.EQUAL: operator.eq,
        Operator.NOT_EQUAL: operator.ne,
        Operator.LESS: operator.lt,
        Operator.LESS_OR_EQUAL: operator.le,
        Operator.GREATER: operator.gt,
        Operator.GREATER_OR_EQUAL: operator.ge,
        Operator.STRING_EQUAL: operator.eq,
        Operator.STRING_NOT_EQUAL: operator.ne,
        Operator.STRING_LESS: operator.lt,
        Operator.STRING_LESS_OR_EQUAL: operator.le,
        Operator.STRING_GREATER: operator.gt,
        Operator.STRING_GREATER_OR_EQUAL: operator.ge,
        Operator.STRING_PREFIX: str.startswith,
        Operator.STRING_POSTFIX: str.endswith,
        Operator.STRING_CONTAINS: operator.contains,
        Operator.PRESENT: _present,
    }
)
"""For each operator, the test of (a publication's value, the predicate's value), both of the operator's type."""

test_of = dict(TESTS).__getitem__
"""The test of an operator."""


def holds(predicate: Predicate, value: Value) -> bool:
    """True when the value satisfies the predicate; a value of the other type never does."""
    wanted = predicate.value
    return (type(value) is str) is (type(wanted) is str) and test_of(predicate.operator)(value, wanted)


def all_hold(predicates: Iterable[Predicate], attributes: Mapping[str, Value]) -> bool:
    """True when each predicate holds for its attribute; on a missing attribute none does."""
    value_of = attributes.get
    for predicate in predicates:
        value = value_of(predicate.attribute)
        if value is None:
            return False
        wanted = predicate.value  # as in `holds`, whose call would take as long as the rest
        if (type(value) is str) is not (type(wanted) is str) or not test_of(predicate.operator)(value, wanted):
            return False
    return True


def matches(subscription: Subscription, publication: Publication) -> bool:
    """True when every predicate of the subscription holds for the publication."""
    return all_hold(subscription.predicates, publication.attributes)


def conforms(publication: Publication, advertisement: Advertisement) -> bool:
    """True when each attribute of the publication is advertised and satisfies the predicates on it.

    Advertised attributes may be missing, except `class`, which no publication lacks.
    """
    by_attribute = advertisement.by_attribute
    for attribute, value in publication.attributes.items():
        predicates = by_attribute.get(attribute)
        if predicates is None:
            return False
        for predicate in predicates:
            wanted = predicate.value  # as in `holds`, whose call would take as long as the rest
            if (type(value) is str) is not (type(wanted) is str) or not test_of(predicate.operator)(value, wanted):
                return False
    return True


# Bytes


def encode_publication(publication: Publication) -> bytes:
    """The bytes `decode_publication` takes; attributes keep their order."""
    content = Content()
    add = content.attributes.add
    for name, value in publication.attributes.items():
        attribute = add()
        attribute.name = name
        if type(value) is str:  # as in `set_value`, whose call would take as long as the rest
            attribute.value.text = value
        elif type(value) is float:
            attribute.value.decimal = value
        else:
            set_value(attribute.value, value)
    return content.SerializeToString()


def decode_publication(data: bytes) -> Publication:
    """The publication these bytes encode. Raises `ContentError`."""
    try:
        pairs = Content.FromString(data).attributes
    except DecodeError as error:
        raise ContentError(f"a publication's body cannot be decoded: {error}") from None
    if len(pairs) > MAX_ATTRIBUTES:
        raise ContentError(f"{len(pairs)} attributes", f"a publication takes at most {MAX_ATTRIBUTES}")
    attributes: dict[str, Value] = {}
    for pair in pairs[:]:  # as a list, whose end is no error that protobuf puts into words
        wire = pair.value
        # A field that is not set reads as zero or empty, which is cheaper to find out than which one is set.
        if decimal := wire.decimal:
            if not isfinite(decimal):
                check_value(pair.name, decimal)
            attributes[pair.name] = decimal
        else:
            attributes[pair.name] = wire.text or wire.integer or get_value(pair.name, wire)
    if len(attributes) != len(pairs):
        raise ContentError(f"attribute {shortened(_repeated([pair.name for pair in pairs]))} occurs more than once")
    if type(attributes.get(CLASS)) is not str:
        raise _class_trouble(attributes)
    publication = object.__new__(Publication)  # without the constructor's checks, which protobuf has made and this does
    object.__setattr__(publication, "attributes", attributes)
    # A name is no longer than the message that it stands in.
    if "" in attributes or (len(data) > MAX_NAME_LENGTH and max(map(len, attributes)) > MAX_NAME_LENGTH):
        for name in attributes:
            check_name(name)
    return publication


def encode_predicates(predicates: tuple[Predicate, ...]) -> bytes:
    """The bytes `decode_predicates` takes; predicates keep their order."""
    message = Predicates()
    for predicate in predicates:
        wire = message.predicates.add()
        wire.attribute = predicate.attribute
        wire.operator = predicate.operator.value
        set_value(wire.value, predicate.value)
    return message.SerializeToString()


def decode_predicates(data: bytes) -> tuple[Predicate, ...]:
    """The predicates these bytes encode, at least one. Raises `ContentError`.

    An empty list is refused, because an empty body is hardly meant as a subscription to everything. Names of attributes
    are interned, because the tables of many brokers of a process hold the same ones.
    """
    try:
        wires = Predicates.FromString(data).predicates
    except DecodeError as error:
        raise ContentError(f"predicates cannot be decoded: {error}") from None
    if not 0 < len(wires) <= MAX_ADVERTISED_PREDICATES:
        raise ContentError(f"{len(wires)} predicates", f"a conjunction takes 1 to {MAX_ADVERTISED_PREDICATES}")
    predicates = []
    for wire in wires[:]:  # as in `decode_publication`
        attribute, held = sys.intern(wire.attribute), wire.value
        value = held.decimal or held.text or held.integer or get_value(attribute, held)  # as in `decode_publication`
        predicates.append(Predicate(attribute, operator_named(wire.operator, value), value))
    return tuple(predicates)


def decode_advertisement(data: bytes) -> Advertisement:
    """The advertisement these bytes encode. Raises `ContentError`.

    A small one is decoded once in a process, because many clients make the same and the tables of many brokers hold it.
    """
    return _small_advertisement(data) if len(data) <= _SMALL else Advertisement(decode_predicates(data))


def decode_subscription(data: bytes) -> Subscription:
    """The subscription these bytes encode. Raises `ContentError`.

    A small one is decoded once in a process, because many clients and brokers have the same.
    """
    return _small_subscription(data) if len(data) <= _SMALL else Subscription(decode_predicates(data))


@lru_cache(maxsize=_KEPT)
def _small_advertisement(data: bytes) -> Advertisement:
    return Advertisement(decode_predicates(data))


@lru_cache(maxsize=_KEPT)
def _small_subscription(data: bytes) -> Subscription:
    return Subscription(decode_predicates(data))


def set_value(wire: WireValue, value: Value) -> None:
    """Writes a value into a field of a message."""
    if isinstance(value, str):
        wire.text = value
    elif isinstance(value, float):
        wire.decimal = value
    elif _INT64_LOW <= value <= _INT64_HIGH:
        wire.integer = value
    else:
        wire.big_integer = str(value)


def get_value(attribute: str, wire: WireValue) -> Value:
    """The value in a field of a message, which belongs to an attribute. Raises `ContentError`."""
    kind = wire.WhichOneof("kind")
    if kind is None:
        raise ContentError(f"attribute {shortened(attribute)} has no value")
    if kind == "big_integer":
        return _big_integer(wire.big_integer)
    value: Value = getattr(wire, kind)
    return value


def _big_integer(digits: str) -> int:
    magnitude = digits.removeprefix("-")
    if not (magnitude.isascii() and magnitude.isdigit() and len(magnitude) <= MAX_INTEGER_DIGITS):
        raise ContentError(f"a big integer takes 1 to {MAX_INTEGER_DIGITS} decimal digits, not {digits[:40]!r}")
    return int(digits)


def _repeated(names: list[str]) -> str:
    return next(name for name in names if names.count(name) > 1)
