"""The index from the content of a publication to the subscriptions that match it.

1. Each subscription is filed in exactly one bucket, that of its access path (`access`): an equality, else the presence
   of an attribute. A publication visits the buckets of the paths it satisfies, a few hash lookups.
2. In a bucket a handful of subscriptions is tried one by one. More are kept as arrays of intervals and compared with
   the publication at once (`block`); blocks beyond some thousand are divided, and most of them passed by (`tree`).
   Predicates that are not intervals are evaluated once per distinct condition (`conditions`).
3. Comparisons of intervals are exact for every published double (`bounds`). A publication with a number that is none
   (an integer beyond 2**53) may have its result verified one by one.

Whatever path a publication's result takes, the meaning of a predicate is that of `language.evaluation`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from broker_service.language import Subscription, Value
from broker_service.language.evaluation import all_hold
from broker_service.matching.access import ALWAYS, AccessStatistics
from broker_service.matching.bounds import AttributeLimits
from broker_service.matching.bucket import Bucket
from broker_service.matching.tuning import Tuning

K = TypeVar("K", bound=Hashable)


class _Entry(NamedTuple, Generic[K]):
    subscription: Subscription
    bucket: Bucket[K]


class MatchIndex(Generic[K]):
    """Subscriptions under keys, found by publications."""

    def __init__(self, tuning: Tuning | None = None) -> None:
        self._tuning = tuning or Tuning()
        self._entries: dict[K, _Entry[K]] = {}
        self._statistics = AccessStatistics()
        self._buckets: dict[str | None, dict[Value | None, Bucket[K]]] = {}
        """Buckets by the attribute and the value of their access path. No bucket is empty."""
        self._limits = AttributeLimits({})
        """Limits of the publication that is matched at present."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def add(self, key: K, subscription: Subscription) -> None:
        """Adds a subscription under a key; it replaces a former subscription under an equal key."""
        if key in self._entries:
            self.remove(key)
        access = self._statistics.add(subscription)
        buckets = self._buckets.setdefault(access.attribute, {})
        bucket = buckets.get(access.value)
        if bucket is None:
            bucket = buckets[access.value] = Bucket(access, self._tuning)
        bucket.add(key, subscription)
        self._entries[key] = _Entry(subscription, bucket)

    def remove(self, key: K) -> None:
        """Removes a key. Raises `KeyError` when it is not in the index."""
        subscription, bucket = self._entries.pop(key)
        self._statistics.remove(subscription)
        bucket.remove(key, subscription)
        if not bucket:
            access = bucket.access
            buckets = self._buckets[access.attribute]
            del buckets[access.value]
            if not buckets:
                del self._buckets[access.attribute]

    def match(self, attributes: Mapping[str, Value]) -> list[K]:
        """The keys of all subscriptions that these attributes match, in any order, each once."""
        limits, all_buckets = self._limits, self._buckets
        limits.attributes, limits.exact = attributes, True
        keys: list[K] = []
        if (buckets := all_buckets.get(ALWAYS.attribute)) is not None:
            buckets[ALWAYS.value].match(attributes, limits, keys)
        common: Collection[str] = ()
        if len(all_buckets) < len(attributes):  # then the intersection tells most quickly that there is none, or one
            common = attributes.keys() & all_buckets.keys()
        if len(all_buckets) >= len(attributes) or len(common) > 1:
            common = [attribute for attribute in attributes if attribute in all_buckets]  # the publication's order
        for attribute in common:
            value, buckets = attributes[attribute], all_buckets[attribute]
            if (bucket := buckets.get(value)) is not None:
                bucket.match(attributes, limits, keys)
            if (bucket := buckets.get(None)) is not None:
                bucket.match(attributes, limits, keys)
        if limits.exact:
            return keys
        return [key for key in keys if all_hold(self._entries[key].subscription.predicates, attributes)]
