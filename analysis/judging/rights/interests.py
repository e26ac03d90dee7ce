"""Interests: the distinct conjunctions of predicates that clients subscribe to, found by content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from analysis.judging.histories.history import History
from analysis.reading.publication_events import decode_content
from broker_service.language import ContentError, Predicate, Publication, Subscription, Value
from broker_service.matching import MatchIndex
from record.log import Event


class ReadContent(NamedTuple):
    """A publication's content, and the numbers of the interests that it matches."""

    publication: Publication | None
    """None where the language does not know such content."""
    interests: tuple[int, ...]


class Interests:
    """Subscriptions with equal predicates, in any order, share an interest.

    The last content read is kept, because the variants of a scenario publish the same, one after the other.
    """

    def __init__(self, subscriptions: Iterable[tuple[Predicate, ...]]) -> None:
        self._index: MatchIndex[int] = MatchIndex()
        self._numbers: dict[frozenset[Predicate], int] = {}
        self._encoded: bytes | None = None
        self._last = ReadContent(None, ())
        for predicates in subscriptions:
            number = self._numbers.setdefault(frozenset(predicates), len(self._numbers))
            if number == len(self._index):
                self._index.add(number, Subscription(predicates))

    def __len__(self) -> int:
        return len(self._numbers)

    def number_of(self, predicates: tuple[Predicate, ...]) -> int:
        """The number of a subscription's interest. Raises `KeyError` for a subscription that was not given."""
        return self._numbers[frozenset(predicates)]

    def read(self, encoded: bytes) -> ReadContent:
        """A publication's content and the interests that match it."""
        if encoded != self._encoded:
            attributes = decode_content(encoded)
            self._last = ReadContent(_publication(attributes), tuple(self._index.match(attributes)))
            self._encoded = encoded
        return self._last


def _publication(attributes: Mapping[str, Value]) -> Publication | None:
    try:
        return Publication(attributes)
    except ContentError:
        return None


def interests_of(histories: Iterable[History]) -> list[Interests]:
    """The interests of each history. Histories with the same subscriptions in the same order share theirs."""
    made: dict[tuple[tuple[Predicate, ...], ...], Interests] = {}
    found = []
    for history in histories:
        subscriptions = tuple(
            lifetime.predicates
            for lifetime in history.lifetimes
            if lifetime.predicates is not None and lifetime.made is Event.SUBSCRIBE
        )
        interests = made.get(subscriptions)
        if interests is None:
            interests = made[subscriptions] = Interests(subscriptions)
        found.append(interests)
    return found
