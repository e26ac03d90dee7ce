"""Contents as the bodies that brokers get, written by the kit's own reader of the PADRES notation.

`[class,'STOCK'],[price,80]` is a publication; `[class,eq,'STOCK'],[price,>,80]` a subscription or an advertisement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from broker_service.generated import content_pb2 as pb

_BRACKET = re.compile(r"\s*,?\s*\[\s*")
_NAME = re.compile(r"\s*(?:'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"|([^,\]\s]+))\s*")
_INTEGER = re.compile(r"[+-]?\d+")
_INT64 = range(-(1 << 63), 1 << 63)

Value = int | float | str


def publication(text: str) -> bytes:
    """The body of a publication in the notation."""
    content = pb.Content()
    for name, value in (part for part in _parts(text, 2)):
        attribute = content.attributes.add(name=str(name))
        set_value(attribute.value, value)
    return content.SerializeToString()


def predicates(text: str) -> bytes:
    """The body of a subscription or an advertisement in the notation."""
    message = pb.Predicates()
    for name, operator, value in (part for part in _parts(text, 3)):
        predicate = message.predicates.add(attribute=str(name), operator=str(operator))
        set_value(predicate.value, value)
    return message.SerializeToString()


def advertisement_for(body: bytes) -> bytes:
    """The body of an advertisement to which a publication conforms, and others with the same attributes."""
    message = pb.Predicates()
    for attribute in pb.Content.FromString(body).attributes:
        predicate = message.predicates.add(attribute=attribute.name, operator="isPresent")
        predicate.value.CopyFrom(attribute.value)
    return message.SerializeToString()


def set_value(wire: pb.Value, value: Value) -> None:
    """Writes a value into a message."""
    if isinstance(value, str):
        wire.text = value
    elif isinstance(value, float):
        wire.decimal = value
    elif value in _INT64:
        wire.integer = value
    else:
        wire.big_integer = str(value)


def _parts(text: str, size: int) -> Iterator[list[Value]]:
    place = 0
    while place < len(text.rstrip()):
        bracket = _BRACKET.match(text, place)
        if bracket is None:
            raise ValueError(f"no bracket at {text[place:]!r}")
        place = bracket.end()
        part: list[Value] = []
        while not part or text[place - 1] != "]":
            found = _NAME.match(text, place)
            if found is None:
                raise ValueError(f"no value at {text[place:]!r}")
            part.append(_value(found, last=len(part) == size - 1))
            place = found.end() + 1
        if len(part) != size:
            raise ValueError(f"{size} fields are expected in {text!r}")
        yield part


def _value(found: re.Match[str], *, last: bool) -> Value:
    single, double, bare = found.groups()
    if single is not None:
        return single.replace("''", "'")
    if double is not None:
        return double.replace('""', '"')
    if not last:
        return str(bare)
    if _INTEGER.fullmatch(bare):
        return int(bare)
    try:
        return float(bare)
    except ValueError:
        return str(bare)
