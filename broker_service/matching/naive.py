"""The definition of what an index returns: every subscription is tried."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from broker_service.language import Publication, Subscription, Value
from broker_service.language.relations import matches

K = TypeVar("K", bound=Hashable)


class NaiveIndex(Generic[K]):
    """The oracle of `MatchIndex`: the same methods, and nothing to get wrong."""

    def __init__(self) -> None:
        self._subscriptions: dict[K, Subscription] = {}

    def __len__(self) -> int:
        return len(self._subscriptions)

    def __contains__(self, key: object) -> bool:
        return key in self._subscriptions

    def add(self, key: K, subscription: Subscription) -> None:
        """File a subscription under a key; an equal key's former subscription is replaced."""
        self._subscriptions[key] = subscription

    def remove(self, key: K) -> None:
        """Forget a key. Raises `KeyError` where it is not in the index."""
        del self._subscriptions[key]

    def match(self, attributes: Mapping[str, Value]) -> list[K]:
        """Return the keys of all subscriptions that these attributes match, in any order, each once."""
        publication = Publication(attributes)
        return [key for key, subscription in self._subscriptions.items() if matches(subscription, publication)]
