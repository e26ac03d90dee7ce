"""Selectors of JMS (SQL-92's conditions) that cover subscriptions, and the properties of messages that they look at.

A selector lets through whatever its subscription matches; what it cannot express is left to the client:

1. An attribute has a property for its numbers and one for its texts, because predicates hold for one type alone.
   Both are in signs that are their own everywhere: names in identifiers, texts in literals and patterns.
2. Numbers are compared as doubles, by ActiveMQ as Java's. Where rounding could make two different numbers one, a
   selector asks only that there is a number.
3. Texts are compared by equality and by pattern. JMS has no order of texts, so a selector asks only that there is one.
4. A publication with more than a header takes has a property that every selector lets through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote

from broker_service.language import Operator, Predicate, Publication, Subscription, Value

_UNFIT: Final = "unfit"
_LONGEST: Final = 1000
"""Characters of a property's name or value; the length of a header is bounded."""
_MOST_PROPERTIES: Final = 64
_EXACT: Final = 2.0**53
"""Below, two numbers of which one is an integer or a double are equal if they are equal as doubles."""
_NUMBERS: Final = (
    Operator.EQUAL,
    Operator.NOT_EQUAL,
    Operator.LESS,
    Operator.LESS_OR_EQUAL,
    Operator.GREATER,
    Operator.GREATER_OR_EQUAL,
)
"""Operators that JMS writes as the language does."""
_TEXTS: Final = {
    Operator.STRING_EQUAL: "= '{}'",
    Operator.STRING_NOT_EQUAL: "<> '{}'",
    Operator.STRING_PREFIX: "LIKE '{}%'",
    Operator.STRING_POSTFIX: "LIKE '%{}'",
    Operator.STRING_CONTAINS: "LIKE '%{}%'",
}


def properties_of(publication: Publication) -> Mapping[str, str]:
    """The properties that selectors look at."""
    found = dict(_properties(publication.attributes))
    if len(found) > _MOST_PROPERTIES or any(len(text) > _LONGEST for item in found.items() for text in item):
        return {_UNFIT: "1"}
    return found


def selector_for(subscription: Subscription) -> str | None:
    """The narrowest selector that covers a subscription; None where it could ask for nothing."""
    asked = dict.fromkeys(_condition(one) for one in subscription.predicates)
    if not asked or any(len(one) > _LONGEST for one in asked):
        return None
    return f"{_UNFIT} IS NOT NULL OR ({' AND '.join(asked)})"


def _properties(attributes: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    for name, value in attributes.items():
        yield _property(name, value), _signs(value, "$") if isinstance(value, str) else _double(value)


def _condition(predicate: Predicate) -> str:
    name, value, operator = _property(predicate.attribute, predicate.value), predicate.value, predicate.operator
    if isinstance(value, str):
        if operator in _TEXTS:
            return f"{name} {_TEXTS[operator].format(_signs(value, '$'))}"
    elif operator in _NUMBERS and abs(value) < _EXACT:
        return f"{name} {operator.value} {_double(value)}"
    return f"{name} IS NOT NULL"


def _property(attribute: str, value: Value) -> str:
    return f"{'t' if isinstance(value, str) else 'n'}_{_signs(attribute, '_')}"


def _signs(text: str, escape: str) -> str:
    """A text in letters, digits and escapes of two digits, so that parts of a text have the signs that they have in it.

    An escape that stands for a sign of the text, too, would be no part of one.
    """
    plain = "".join(sign if sign.isascii() and sign.isalnum() else quote(sign, safe="") for sign in text)
    for sign in "_.-~":
        plain = plain.replace(sign, f"%{ord(sign):02X}")
    return plain.replace("%", escape)


def _double(value: float) -> str:
    """A number as JMS writes a double. One beyond all doubles has the sign and size of the greatest."""
    try:
        double = float(value)
    except OverflowError:
        double = 1.7976931348623157e308 if value > 0 else -1.7976931348623157e308
    return repr(double + 0.0).upper()  # -0.0 is less than 0.0 for Java
