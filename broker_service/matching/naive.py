"""The naive index, which defines the results of every other: it tries each subscription."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from broker_service.language import Publication, Subscription, Value
from broker_service.language.content import matches

K = TypeVar("K", bound=Hashable)


class NaiveIndex(Generic[K]):
    """The oracle of `MatchIndex`: the same methods, too simple to be wrong."""

    def __init__(self) -> None:
        self._subscriptions: dict[K, Subscription] = {}

    def __len__(self) -> int:
        return len(self._subscriptions)

    def __contains__(self, key: object) -> bool:
        return key in self._subscriptions

    def add(self, key: K, subscription: Subscription) -> None:
        """Adds a subscription under a key; it replaces a former subscription under an equal key."""
        self._subscriptions[key] = subscription

    def remove(self, key: K) -> None:
        """Removes a key. Raises `KeyError` when it is not in the index."""
        del self._subscriptions[key]

    def match(self, attributes: Mapping[str, Value]) -> list[K]:
        """The keys of all subscriptions that these attributes match, in any order, each once."""
        publication = Publication(attributes)
        return [key for key, subscription in self._subscriptions.items() if matches(subscription, publication)]
