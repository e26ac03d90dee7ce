"""Sums of subscriptions: the server's own, which it announces, and those of all servers, which it matches against.

The sum of a server's subscriptions is the set of the distinct ones (section 3): what two of its clients want alike is
announced once, and a publication is compared with each distinct subscription once, however many servers announced it. A
subscription is its encoded predicates here. The same predicates in another order are another subscription, which costs
a comparison and changes no result.

In a simulation of N servers each of them knows the sums of all others. Kept by each for itself these would be N times N
sums. A sum is therefore a value that does not change, the same object for all servers of a process, and what a change
makes of it is found once. No sum outlives the servers that hold it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from broker_service.language import Subscription
from broker_service.language.formatting import format_subscription
from broker_service.matching import MatchIndex
from broker_service.messages import Message
from broker_service.routing.common.decoding import decode_subscription
from broker_service.routing.common.distances import Servers
from broker_service.routing.interface import Matcher

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


class OwnSum:
    """The sum of the subscriptions of this server's clients, and the part of it that has been announced."""

    def __init__(self) -> None:
        self._clients: Counter[bytes] = Counter()
        """Number of clients' subscriptions that are equal."""
        self._announced: dict[bytes, None] = {}
        self.touched: dict[bytes, None] = {}
        """Subscriptions that may have changed since the call of `announce` before."""

    @property
    def announced(self) -> tuple[bytes, ...]:
        """The subscriptions that have been announced and not withdrawn."""
        return tuple(self._announced)

    def add(self, subscription: bytes) -> None:
        """A client has this subscription."""
        self._clients[subscription] += 1
        self.touched[subscription] = None

    def remove(self, subscription: bytes) -> None:
        """A client has this subscription no more."""
        self._clients[subscription] -= 1
        if not self._clients[subscription]:
            del self._clients[subscription]
        self.touched[subscription] = None

    def announce(self) -> SumChange:
        """The changes since the call before, which are announced now."""
        clients, announced = self._clients, self._announced
        touched, self.touched = self.touched, {}
        added = tuple([key for key in touched if key in clients and key not in announced])
        withdrawn = tuple([key for key in touched if key in announced and key not in clients])
        announced.update(dict.fromkeys(added))
        for subscription in withdrawn:
            del announced[subscription]
        return SumChange(added, withdrawn)


class SharedIndex(NamedTuple):
    """An index of sums that servers of one process share. Nothing in it changes."""

    sums: tuple[SubscriptionSum, ...]
    """The sums of all servers, by their numbers."""
    subscriptions: MatchIndex[bytes]
    holders: Mapping[bytes, int]
    """Servers that hold each subscription, as bits (`KnownSums`)."""


class KnownSums:
    """The sums of all servers, as far as this one knows them. Its own is the part that it has announced.

    The index lags behind the sums until a publication is matched. Then it takes over single changes. Only when more
    subscriptions have changed than it holds, as after a start, it begins anew: with the index that some server of the
    process made last, if fewer subscriptions than that one holds are others there, or else with one of its own sums.
    What differs from a shared index is each server's own.
    """

    def __init__(self, matcher: Matcher[bytes], servers: int, own: int) -> None:
        """`matcher` is an empty index, `servers` the number of servers, `own` the number of this one."""
        self._matcher = matcher
        self._bytes = (servers + 7) // 8
        self._own = 1 << own
        self._sums = [EMPTY] * servers
        self._indexed = [EMPTY] * servers
        """The sums that the index stands for."""
        self._stale: set[int] = set()
        """Servers whose two sums may differ."""
        self._shared: Mapping[bytes, int] = {}
        self._holders: dict[bytes, int] = {}
        """Servers that hold each subscription: bit n is set for server n. Those of `_shared` count where there are no
        others. A thousand servers hold the sums of a thousand others, and sets would take a hundred times as much
        memory."""

    def change(self, server: int, change: SumChange) -> None:
        """Applies the change of a server's sum. Raises `MalformedMessageError` for what cannot be decoded."""
        self._set(server, self._sums[server].after(change))

    def replace(self, server: int, subscriptions: tuple[bytes, ...]) -> None:
        """Takes a whole sum in place of what is known of a server. Raises as `change`."""
        self._set(server, EMPTY.after(SumChange(subscriptions)) if subscriptions else EMPTY)

    def held_by(self, server: int) -> list[bytes]:
        """The sum of a server."""
        return list(self._sums[server].subscriptions)

    def matching(self, message: Message, publication_server: int) -> Servers:
        """The publication server and all others with a subscription that matches a publication, in ascending order."""
        self.index()
        holders = 1 << publication_server
        for subscription in self._matcher.match(message):
            holders |= self._holders_of(subscription)
        bits = np.frombuffer(holders.to_bytes(self._bytes, "little"), np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.uint16)

    def texts(self, servers: Iterable[str]) -> Mapping[str, list[str]]:
        """Subscriptions of each other server that has any, for people; the servers' names are in the order of their
        numbers."""
        return {
            server: sorted(map(format_subscription, self._sums[number].subscriptions.values()))
            for number, server in enumerate(servers)
            if self._sums[number] is not EMPTY and 1 << number != self._own
        }

    def _set(self, server: int, known: SubscriptionSum) -> None:
        self._sums[server] = known
        self._stale.add(server)

    def _holders_of(self, subscription: bytes) -> int:
        holders = self._holders.get(subscription)
        return self._shared.get(subscription, 0) if holders is None else holders

    def index(self) -> None:
        """Brings the index in line with the sums."""
        if not self._stale:
            return
        if _are_farther_apart(self._indexed, self._sums, len(self._matcher)):
            if not _latest or _are_farther_apart(_latest[0].sums, self._sums, len(_latest[0].subscriptions)):
                _latest[:] = [_made_index(tuple(self._sums))]
            self._begin_with(_latest[0])
        for server in sorted(self._stale):
            self._index_one(server)
        self._stale.clear()

    def _begin_with(self, index: SharedIndex) -> None:
        self._matcher.share(index.subscriptions)
        self._shared = index.holders
        self._holders.clear()
        self._indexed = list(index.sums)
        self._stale = {server for server, known in enumerate(self._sums) if known is not self._indexed[server]}

    def _index_one(self, server: int) -> None:
        former, known, bit = self._indexed[server].subscriptions, self._sums[server].subscriptions, 1 << server
        self._indexed[server] = self._sums[server]
        for key in [key for key in known if key not in former]:
            holders = self._holders_of(key)
            if not holders:
                self._matcher.add(key, known[key])
            self._holders[key] = holders | bit
        for key in [key for key in former if key not in known]:
            holders = self._holders[key] = self._holders_of(key) ^ bit
            if not holders:
                self._matcher.remove(key)


_latest: list[SharedIndex] = []
"""The index that a server of this process made last, or nothing."""


def _are_farther_apart(former: Sequence[SubscriptionSum], known: Sequence[SubscriptionSum], subscriptions: int) -> bool:
    """True when more than this many subscriptions are in one of two sums of a server and not in the other."""
    if len(former) != len(known):
        return True
    changed = 0
    for one, other in zip(former, known, strict=True):
        if one is not other:
            changed += len(one.subscriptions.keys() ^ other.subscriptions.keys())
            if changed > subscriptions:
                return True
    return False


def _made_index(sums: tuple[SubscriptionSum, ...]) -> SharedIndex:
    holders: dict[bytes, int] = {}
    index: MatchIndex[bytes] = MatchIndex()
    for server, known in enumerate(sums):
        for key, subscription in known.subscriptions.items():
            held = holders.get(key, 0)
            if not held:
                index.add(key, subscription)
            holders[key] = held | 1 << server
    return SharedIndex(sums, index, holders)
