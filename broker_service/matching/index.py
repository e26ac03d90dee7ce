"""The index from the content of a publication to the subscriptions that match it.

1. Each subscription is filed in exactly one bucket, that of its access path (`access`): an equality, else the presence
   of an attribute. A publication visits the buckets of the paths it satisfies, a few hash lookups.
2. In a bucket a handful of subscriptions is tried one by one. More are kept as arrays of intervals and compared with
   the publication at once (`block`); blocks beyond some thousand are divided, and most of them passed by (`tree`).
   Predicates that are not intervals are evaluated once per distinct condition (`conditions`).
3. Comparisons of intervals are exact for every published double (`bounds`). A publication with a number that is none
   (an integer beyond 2**53) may have its result verified one by one.

Whatever path a publication's result takes, the meaning of a predicate is that of `language.content`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from broker_service.language import Predicate, Subscription, Value
from broker_service.language.content import all_hold
from broker_service.matching.access import ALWAYS, Access, AccessStatistics, remaining_predicates
from broker_service.matching.bounds import AttributeLimits
from broker_service.matching.tuning import Tuning

if TYPE_CHECKING:
    from broker_service.matching.tree import BoundsTree

K = TypeVar("K", bound=Hashable)


class Bucket(Generic[K]):
    """Subscriptions that share an access path. Their other predicates are checked here."""

    __slots__ = ("_singles", "_tree", "_tuning", "access")

    def __init__(self, access: Access, tuning: Tuning) -> None:
        self.access = access
        self._tuning = tuning
        self._singles: dict[K, tuple[Predicate, ...]] = {}
        """The predicates left to check of each member."""
        self._tree: BoundsTree[K] | None = None

    def __bool__(self) -> bool:
        """True when the bucket has a member."""
        return bool(self._singles or self._tree)

    def add(self, key: K, remaining: tuple[Predicate, ...]) -> None:
        """Adds a subscription whose key is not in the bucket yet, by the predicates that are left to check of it."""
        if self._tree is not None:
            self._tree.add(key, remaining)
            return
        self._singles[key] = remaining
        if len(self._singles) > self._most_singles():
            self._plant()

    def remove(self, key: K, subscription: Subscription) -> None:
        """Removes a member, given the subscription that it was added with."""
        if self._tree is not None:
            self._tree.remove(key, remaining_predicates(subscription, self.access))
        else:
            del self._singles[key]

    def match(self, attributes: Mapping[str, Value], limits: AttributeLimits, keys: list[K]) -> None:
        """Append the keys that match, given that the access path is satisfied (see `Block.match`)."""
        if self._tree is not None:
            self._tree.match(attributes, limits, keys)
            return
        for key, remaining in self._singles.items():
            if not remaining or all_hold(remaining, attributes):
                keys.append(key)

    def _most_singles(self) -> int:
        return self._tuning.vectorise_from if "numpy" in sys.modules else self._tuning.load_numpy_from

    def _plant(self) -> None:
        """Switch to arrays, permanently."""
        from broker_service.matching.tree import BoundsTree  # noqa: PLC0415 - NumPy is loaded only when it pays

        self._tree = BoundsTree(self._tuning)
        singles, self._singles = self._singles, {}
        for key, remaining in singles.items():
            self._tree.add(key, remaining)


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
        access, remaining = self._statistics.add(subscription)
        buckets = self._buckets.setdefault(access.attribute, {})
        bucket = buckets.get(access.value)
        if bucket is None:
            bucket = buckets[access.value] = Bucket(access, self._tuning)
        bucket.add(key, remaining)
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
