"""Topics that publications get from their content, and filters of topics that cover subscriptions.

A topic has one level for each attribute that the scenario names, in its order. Equal values have equal levels, and
different ones different levels. A filter has the level that a subscription asks for by equality, or any. So it lets
through whatever the subscription matches, and mostly more: the rest is the price of topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from broker_service.language import Operator, Publication, Subscription, Value

Topic = tuple[str, ...]
Filter = tuple[str | None, ...]
"""Levels of a filter; None stands for any. What a system filters by besides topics comes last."""

ABSENT: Final = "-"
"""The level of an attribute that a publication lacks, which no subscription asks for."""
_LONGEST: Final = 1000
"""Characters of a level; a longer one is replaced by its digest, because the length of topics is bounded."""
_EQUALITY: Final = (Operator.EQUAL, Operator.STRING_EQUAL)


def topic_of(publication: Publication, attributes: Sequence[str]) -> Topic:
    """The topic of a publication."""
    found = publication.attributes
    return tuple(_level(found[name]) if name in found else ABSENT for name in attributes)


def filter_for(subscription: Subscription, attributes: Sequence[str]) -> Filter:
    """The narrowest filter that covers a subscription."""
    asked = {one.attribute: one.value for one in reversed(subscription.predicates) if one.operator in _EQUALITY}
    return tuple(_level(asked[name]) if name in asked else None for name in attributes)


def lets_through(chosen: Filter, topic: Topic) -> bool:
    """True where a filter lets a topic through."""
    return all(wanted in (None, level) for wanted, level in zip(chosen, topic, strict=True))


def written(levels: Sequence[str | None], wildcard: str) -> str:
    """A topic or a filter as systems write it, below a level of its own that keeps it from the system's own topics."""
    return "/".join(("brokerlab", *(wildcard if level is None else level for level in levels)))


def _level(value: Value) -> str:
    if isinstance(value, str):
        text = "s" + quote(value, safe="")
    elif value == int(value):  # 80 and 80.0 are one number
        text = f"n{int(value)}"
    else:
        text = f"n{value!r}"
    return text if len(text) <= _LONGEST else f"h{sha256(text.encode()).hexdigest()}"
