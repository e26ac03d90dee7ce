"""Operands of a relation.

- `matches`: a publication and a subscription, in either place, which the notation distinguishes.
- `covers`: two subscriptions, of which the left covers the right.
- `intersects`: an advertisement on the left and a subscription on the right, which is what routing asks and what PADRES
  means by the word: some publication conforms to the one and matches the other. Or, with `left_is: subscription`, two
  subscriptions: some publication matches both. The answers differ where the left does not name all attributes of the
  right, for an advertisement forbids what it does not name; see `broker_service.language.relations`.
"""

from __future__ import annotations

from broker_service.language import Advertisement, ContentError, Publication, Subscription
from broker_service.language.notation import (
    NotationError,
    parse_advertisement,
    parse_publication,
    parse_subscription,
)

Operand = Publication | Subscription | Advertisement


def left_operand(relation: str, left_is: str, text: str) -> Operand:
    """Raises `ContentError`."""
    if relation == "matches":
        return _publication_or_subscription(text)
    if relation == "intersects" and left_is == "advertisement":
        return parse_advertisement(text)
    return parse_subscription(text)


def right_operand(relation: str, left: Operand, text: str) -> Operand:
    """Raises `ContentError`, also when the left needs something else to go with it."""
    if relation != "matches":
        return parse_subscription(text)
    right = _publication_or_subscription(text)
    if type(right) is type(left):
        noun = "publication" if isinstance(right, Publication) else "subscription"
        raise ContentError(f"left and right are both a {noun}", "`matches` takes one publication and one subscription")
    return right


def _publication_or_subscription(text: str) -> Publication | Subscription:
    """Parses a text as whichever of the two its longer valid beginning belongs to."""
    try:
        return parse_publication(text)
    except NotationError as as_publication:
        try:
            return parse_subscription(text)
        except NotationError as as_subscription:
            readings = (as_publication, as_subscription)
            raise max(readings, key=lambda error: (error.line, error.column)) from None
