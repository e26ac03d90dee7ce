"""Contents and messages as lines carry them, and back."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from broker_service.language import Operator, Predicate, Publication, Value
from broker_service.language.composite_wire import decode_composite, encode_composite
from broker_service.language.content import encode_predicates
from broker_service.messages import KIND_WORDS, Message, StampedPublication
from broker_service.routing.interface import CompositeUnit
from broker_service.routing.program.lines import (
    ArrivingMessage,
    BigInteger,
    LeavingMessage,
    PredicatesLine,
    PublicationLine,
    StampedLine,
    UnitLine,
    ValueLine,
)

_EXACT = 1 << 53
"""Integers up to here are numbers in any language's JSON."""
_KINDS = {word: kind for kind, word in KIND_WORDS.items()}


class UnfitLineError(Exception):
    """A line of the program that does not fit its contract; the text says what is wrong."""


def value_line(value: Value) -> ValueLine:
    """A value as lines carry it."""
    return BigInteger(str(value)) if isinstance(value, int) and abs(value) > _EXACT else value


def _value(line: ValueLine) -> Value:
    return int(line.int) if isinstance(line, BigInteger) else line


def predicates_line(predicates: Sequence[Predicate]) -> PredicatesLine:
    """Predicates as lines carry them."""
    return tuple((one.attribute, one.operator.value, value_line(one.value)) for one in predicates)


def predicates_of(line: PredicatesLine) -> tuple[Predicate, ...]:
    """The predicates of a line. Raises `ValueError` for those that break the content model."""
    return tuple(Predicate(attribute, Operator(word), _value(value)) for attribute, word, value in line)


def publication_line(publication: Publication) -> PublicationLine:
    """A publication as lines carry it."""
    return {name: value_line(value) for name, value in publication.attributes.items()}


def arriving(message: Message, body: bytes | UnsetType = UNSET) -> ArrivingMessage:
    """A message as the program gets it, without its content."""
    return ArrivingMessage(
        KIND_WORDS[message.kind],
        message.id,
        message.header,
        message.hops,
        message.label,
        str(message.published),
        body,
    )


def leaving(line: LeavingMessage, messages: Sequence[Message]) -> Message:
    """The message that a line describes; `messages` are those of the call. Raises `UnfitLineError`."""
    same = None
    if line.same is not UNSET:
        if not 0 <= line.same < len(messages):
            raise UnfitLineError(f"it names message {line.same} of a call with {len(messages)}")
        same = messages[line.same]
    elif line.kind is UNSET:
        raise UnfitLineError("a message needs `same` or `kind`")
    try:
        kind = _KINDS[line.kind] if line.kind is not UNSET else same.kind if same else _KINDS[""]
        body = line.body
        if line.predicates is not UNSET:
            body = encode_predicates(predicates_of(line.predicates))
        return Message(
            kind,
            line.id if line.id is not UNSET else same.id if same else "",
            body if body is not UNSET else same.body if same else b"",
            line.header if line.header is not UNSET else same.header if same else b"",
            line.hops if line.hops is not UNSET else same.hops if same else 0,
            line.label if line.label is not UNSET else same.label if same else "",
            int(line.published) if line.published is not UNSET else same.published if same else 0,
        )
    except KeyError as error:
        raise UnfitLineError(f"{error} is no kind of message; there are {', '.join(_KINDS)}") from None
    except ValueError as error:
        raise UnfitLineError(str(error)) from None


def unit_line(unit: CompositeUnit) -> UnitLine:
    """A unit as lines carry it."""
    return UnitLine(unit.id, unit.client, unit.name, encode_composite(unit.composite))


def unit_of(line: UnitLine) -> CompositeUnit:
    """The unit of a line."""
    return CompositeUnit(line.id, line.client, line.name, decode_composite(line.composite))


def stamped_line(publication: StampedPublication) -> StampedLine:
    """A publication of a detection as lines carry it."""
    return StampedLine(publication.id, publication.body, str(publication.stamp))


def stamped_of(line: StampedLine) -> StampedPublication:
    """The publication of a line."""
    return StampedPublication(line.id, line.body, int(line.stamp))
