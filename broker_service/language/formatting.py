"""Content as text in the PADRES notation: the inverse of `notation`, without its parser.

Parsing what these functions return gives back an equal value; an integer stays an integer and a decimal a decimal. Only
a subscription without predicates, and a text above `notation.MAX_LENGTH`, cannot be read again.
"""

from __future__ import annotations

import re

from broker_service.language.composite import And, Atomic, Composite, Or, Variable, VariablePredicate
from broker_service.language.content import Publication
from broker_service.language.model import Advertisement, Predicate, Subscription, Value

_BARE_NAME = re.compile(r"[^\s\[\]{}(),'\"&|]+")


def format_publication(publication: Publication) -> str:
    """Text such as `[class,'STOCK'],[price,100.5]`."""
    return ",".join(f"[{_name(name)},{_value(value)}]" for name, value in publication.attributes.items())


def format_subscription(subscription: Subscription) -> str:
    """Text such as `[class,eq,'STOCK'],[price,>,80]`; a subscription without predicates has none."""
    return _conjunction(subscription.predicates)


def format_advertisement(advertisement: Advertisement) -> str:
    """Text such as `[class,eq,'STOCK'],[price,>,0]`."""
    return _conjunction(advertisement.predicates)


def format_composite(composite: Composite) -> str:
    """Text such as `{{[class,eq,'A']}&{[class,eq,'B']}}`, every operand in braces, as PADRES wants it."""
    return "{" + _composite(composite) + "}"


def format_variable(variable: Variable) -> str:
    """Text such as `$S$X`."""
    return f"${variable.type.value}${variable.name}"


def _composite(composite: Composite) -> str:
    match composite:
        case Atomic(predicates):
            return _conjunction(predicates)
        case And(operands):
            sign = "&"
        case Or(operands):
            sign = "||"
    return sign.join("{" + _composite(operand) + "}" for operand in operands)


def _conjunction(predicates: tuple[Predicate | VariablePredicate, ...]) -> str:
    return ",".join(map(_predicate, predicates))


def _predicate(predicate: Predicate | VariablePredicate) -> str:
    value = format_variable(predicate.variable) if isinstance(predicate, VariablePredicate) else _value(predicate.value)
    return f"[{_name(predicate.attribute)},{predicate.operator.value},{value}]"


def _name(name: str) -> str:
    return name if _BARE_NAME.fullmatch(name) else _quoted(name)


def _value(value: Value) -> str:
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
