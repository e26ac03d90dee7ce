"""Buckets: the subscriptions of one access path. Few are tried one by one, many are compared at once."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from broker_service.language import Predicate, Subscription, Value
from broker_service.language.evaluation import all_hold
from broker_service.matching.access import Access, remaining_predicates
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

    def add(self, key: K, subscription: Subscription) -> None:
        """Adds a subscription whose key is not in the bucket yet."""
        remaining = remaining_predicates(subscription, self.access)
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
