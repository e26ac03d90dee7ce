"""Contents of subscriptions, by which protocols recognise that two subscriptions are the same."""

from __future__ import annotations

from broker_service.language import Predicate, Subscription
from broker_service.language.content import encode_predicates


def content_of(subscription: Subscription) -> bytes:
    """The content of a subscription, equal for those that differ only in the order or repetition of predicates."""
    return encode_predicates(tuple(sorted(set(subscription.predicates), key=_order)))


def _order(predicate: Predicate) -> tuple[str, str, bool, str]:
    return predicate.attribute, predicate.operator.value, isinstance(predicate.value, str), str(predicate.value)
