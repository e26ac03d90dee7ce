"""Conjunctions, the covering relation between them, and sets of them that have a fingerprint.

A conjunction is known by its content, so that equal ones of different subscribers are one. Covering is a partial
order here: of two different conjunctions that match the same publications, the one whose content comes first covers
the other. The roots of a set are then the same in whatever order they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import msgspec

from broker_service.language import ContentError, Subscription
from broker_service.language.content import decode_subscription
from broker_service.language.relations import covers
from broker_service.routing.common.contents import content_of
from broker_service.routing.interface import MalformedMessageError


class Conjunction(msgspec.Struct, frozen=True):
    """A conjunction of predicates."""

    body: bytes
    """Encoded predicates, by which the conjunction is known; empty for the one that matches every publication."""
    subscription: Subscription

    @classmethod
    def of(cls, subscription: Subscription) -> Conjunction:
        """The conjunction of a client's subscription."""
        return cls(content_of(subscription), subscription)


EVERYTHING = Conjunction(b"", Subscription(()))
"""The conjunction that matches every publication."""


def decode_conjunction(body: bytes) -> Conjunction:
    """The conjunction of a content. Raises `MalformedMessageError` when it cannot be decoded."""
    if not body:
        return EVERYTHING
    try:
        return Conjunction(body, decode_subscription(body))
    except ContentError as error:
        raise MalformedMessageError(str(error)) from None


def is_above(general: Conjunction, special: Conjunction) -> bool:
    """True when one conjunction covers another, different one. Of two that match the same publications, the one whose
    content comes first covers the other."""
    if not covers(general.subscription, special.subscription):
        return False
    return general.body < special.body or not covers(special.subscription, general.subscription)


def fingerprint(body: bytes) -> int:
    """64 bits that stand for a content."""
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "big")


class ConjunctionSet:
    """Conjunctions, each once, with a fingerprint of the whole set."""

    def __init__(self, members: Iterable[Conjunction] = ()) -> None:
        self.by_body: dict[bytes, Conjunction] = {}
        """The conjunctions by their contents; `add` and `remove` alone change it."""
        self.fingerprint = 0
        """Equal for equal sets; for two different ones, with a probability of 2**-64."""
        for conjunction in members:
            self.add(conjunction)

    def __contains__(self, body: bytes) -> bool:
        return body in self.by_body

    def __iter__(self) -> Iterator[Conjunction]:
        return iter(self.by_body.values())

    def __len__(self) -> int:
        return len(self.by_body)

    @property
    def bodies(self) -> tuple[bytes, ...]:
        return tuple(self.by_body)

    def add(self, conjunction: Conjunction) -> bool:
        """Adds a conjunction; false when it was there."""
        if conjunction.body in self.by_body:
            return False
        self.by_body[conjunction.body] = conjunction
        self.fingerprint ^= fingerprint(conjunction.body)
        return True

    def remove(self, body: bytes) -> bool:
        """Removes the conjunction of a content; false when there was none."""
        if self.by_body.pop(body, None) is None:
            return False
        self.fingerprint ^= fingerprint(body)
        return True
