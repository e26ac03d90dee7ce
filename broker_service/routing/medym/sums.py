"""Sums of subscriptions as values, which the servers of one process share.

In a simulation of N servers each of them knows the sums of all others. Kept by each for itself these would be N times N
sums. A sum is therefore a value that does not change, the same object for all servers of a process, and what a change
makes of it is found once. No sum outlives the servers that hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from weakref import WeakValueDictionary, ref

from broker_service.language import Subscription
from broker_service.routing.common.decoding import decode_subscription

_Step = tuple["ref[SubscriptionSum]", "ref[SubscriptionSum]"]
"""A sum and what a change has made of it."""


@dataclass(frozen=True, slots=True)
class SumChange:
    """A change of a server's sum."""

    added: tuple[bytes, ...] = ()
    withdrawn: tuple[bytes, ...] = ()
    latest: list[_Step] = field(default_factory=list, init=False, repr=False, compare=False)
    """The last sum that it changed and what it made of that, or nothing. An announcement comes to all servers, one
    after another, which read the same copy of it, and a look at this costs less than to hash all of it."""


def joint(changes: Iterable[SumChange]) -> SumChange:
    """The one change that has the effect of several, one after another."""
    added: dict[bytes, None] = {}
    withdrawn: dict[bytes, None] = {}
    for change in changes:
        for key in change.added:
            withdrawn.pop(key, None)
            added[key] = None
        for key in change.withdrawn:
            added.pop(key, None)
            withdrawn[key] = None
    return SumChange(tuple(added), tuple(withdrawn))


class SubscriptionSum:
    """The distinct subscriptions of a server. Equal ones are the same object."""

    __slots__ = ("__weakref__", "_following", "subscriptions")

    def __init__(self, subscriptions: Mapping[bytes, Subscription]) -> None:
        """Called by `EMPTY` and `after` alone."""
        self.subscriptions = subscriptions
        """Subscriptions by their encoded predicates."""
        self._following: WeakValueDictionary[SumChange, SubscriptionSum] = WeakValueDictionary()
        """The sums that changes have made of this one."""

    def after(self, change: SumChange) -> SubscriptionSum:
        """The sum that a change makes of this one. A subscription that is added and withdrawn is not in it.

        Raises `MalformedMessageError` when an added subscription cannot be decoded.
        """
        if change.latest:
            former, made = change.latest[0]
            if former() is self and (known := made()) is not None:
                return known
        following = self._following.get(change)
        if following is None:
            following = self._following[change] = self._changed(change)
        change.latest[:] = [(ref(self), ref(following))]
        return following

    def _changed(self, change: SumChange) -> SubscriptionSum:
        subscriptions = dict(self.subscriptions)
        for key in change.added:
            subscriptions[key] = decode_subscription(key)
        for key in change.withdrawn:
            subscriptions.pop(key, None)
        keys = frozenset(subscriptions)
        known = _sums.get(keys)
        if known is None:
            known = _sums[keys] = SubscriptionSum(subscriptions)
        return known


_sums: WeakValueDictionary[frozenset[bytes], SubscriptionSum] = WeakValueDictionary()
"""The sums of this process that any server holds."""

EMPTY = _sums[frozenset()] = SubscriptionSum({})
