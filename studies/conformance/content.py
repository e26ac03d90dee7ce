"""Encoding of the texts of a case, as brokers receive them."""

from __future__ import annotations

from functools import lru_cache

from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.language.notation import (
    parse_advertisement,
    parse_composite,
    parse_publication,
    parse_subscription,
)

_KEPT = 4096
"""Texts whose encoding is remembered: each case is run once for each protocol, with the same texts."""


@lru_cache(_KEPT)
def encode(op: str, text: str, within: int | None = None) -> bytes:
    """The body of a client's operation. `within` is the window of a composite subscription, in nanoseconds.

    Raises `ContentError` when the text is not in the notation.
    """
    match op:
        case "advertise":
            return encode_predicates(parse_advertisement(text).predicates)
        case "subscribe":
            return encode_predicates(parse_subscription(text).predicates)
        case "composite":
            return encode_composite(CompositeSubscription(parse_composite(text), within))
        case "publish":
            return encode_publication(parse_publication(text))
    raise ValueError(f"{op} has no content that brokers take")
