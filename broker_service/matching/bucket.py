"""The subscriptions of one access path: few are tried one by one, many are compared at once."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from broker_service.language import Subscription, Value
from broker_service.matching.access import Access, remaining_predicates
from broker_service.matching.bounds import Limits
from broker_service.matching.evaluation import all_hold
from broker_service.matching.tuning import Tuning

if TYPE_CHECKING:
    from broker_service.matching.block import Block

K = TypeVar("K", bound=Hashable)


class Bucket(Generic[K]):
    """Subscriptions that share an access path. What they have besides it is checked here."""

    __slots__ = ("_blocks", "_singles", "_tuning", "access")

    def __init__(self, access: Access, tuning: Tuning) -> None:
        self.access = access
        self._tuning = tuning
        self._singles: dict[K, Subscription] = {}
        self._blocks: list[Block[K]] = []

    def __bool__(self) -> bool:
        """Return whether there is any member."""
        return bool(self._singles or self._blocks)

    def add(self, key: K, subscription: Subscription) -> None:
        """File a subscription whose key is not here yet."""
        if self._blocks:
            self._add_to_block(key, subscription)
            return
        self._singles[key] = subscription
        if len(self._singles) > self._most_singles():
            singles, self._singles = self._singles, {}
            for key_, subscription_ in singles.items():
                self._add_to_block(key_, subscription_)

    def remove(self, key: K) -> None:
        """Take a member out. Raises `KeyError` where it is none."""
        for position, block in enumerate(self._blocks):
            if key in block:
                block.remove(key)
                if not len(block):
                    del self._blocks[position]
                return
        del self._singles[key]

    def match(self, attributes: Mapping[str, Value], limits: Limits) -> list[K]:
        """Return the keys that match, given that the access path is satisfied (see `Block.match`)."""
        if not self._blocks:
            return [key for key, subscription in self._singles.items() if all_hold(subscription.predicates, attributes)]
        if len(self._blocks) == 1:
            return self._blocks[0].match(attributes, limits)
        return [key for block in self._blocks for key in block.match(attributes, limits)]

    def _most_singles(self) -> int:
        return self._tuning.vectorise_from if "numpy" in sys.modules else self._tuning.load_numpy_from

    def _add_to_block(self, key: K, subscription: Subscription) -> None:
        block = next((block for block in reversed(self._blocks) if not block.full), None)
        if block is None:
            from broker_service.matching.block import Block  # noqa: PLC0415 - NumPy is loaded only when it pays

            block = Block(self._tuning.block_rows, self._tuning.block_columns)
            self._blocks.append(block)
        block.add(key, remaining_predicates(subscription, self.access))
