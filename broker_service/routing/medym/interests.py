"""Sums of subscriptions: the server's own, which it announces, and those of all others, which it matches against.

The sum of a server's subscriptions is the set of the distinct ones (section 3): what two of its clients want alike is
announced once, and a publication is compared with each distinct subscription once, however many servers announced it. A
subscription is its encoded predicates here. The same predicates in another order are another subscription, which costs
a comparison and changes no result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from broker_service.language import Subscription
from broker_service.language.formatting import format_subscription
from broker_service.messages import Message
from broker_service.routing.common.decoding import decode_subscription
from broker_service.routing.common.distances import Servers
from broker_service.routing.matcher import Matcher

_decoded = lru_cache(maxsize=4096)(decode_subscription)
"""Subscriptions that several servers have, decoded once; servers of one process share them."""


class SumChange(NamedTuple):
    """A change of a server's sum."""

    added: tuple[bytes, ...] = ()
    withdrawn: tuple[bytes, ...] = ()


class OwnSum:
    """The sum of the subscriptions of this server's clients, and the part of it that has been announced."""

    def __init__(self) -> None:
        self._clients: Counter[bytes] = Counter()
        """Number of clients' subscriptions that are equal."""
        self._announced: dict[bytes, None] = {}
        self._touched: dict[bytes, None] = {}

    @property
    def announced(self) -> tuple[bytes, ...]:
        """The subscriptions that have been announced and not withdrawn."""
        return tuple(self._announced)

    def add(self, subscription: bytes) -> None:
        """A client has this subscription."""
        self._clients[subscription] += 1
        self._touched[subscription] = None

    def remove(self, subscription: bytes) -> None:
        """A client has this subscription no more."""
        self._clients[subscription] -= 1
        if not self._clients[subscription]:
            del self._clients[subscription]
        self._touched[subscription] = None

    def announce(self) -> SumChange:
        """The changes since the call before, which are announced now."""
        clients, announced = self._clients, self._announced
        touched, self._touched = self._touched, {}
        added = tuple(key for key in touched if key in clients and key not in announced)
        withdrawn = tuple(key for key in touched if key in announced and key not in clients)
        announced.update(dict.fromkeys(added))
        for subscription in withdrawn:
            del announced[subscription]
        return SumChange(added, withdrawn)


class OtherSums:
    """The sums of all other servers, as far as they have been announced to this one."""

    def __init__(self, matcher: Matcher[bytes], servers: int) -> None:
        """`matcher` is an empty index, `servers` the number of servers."""
        self._matcher = matcher
        self._bytes = (servers + 7) // 8
        self._holders: dict[bytes, int] = {}
        """Servers that announced each subscription: bit n is set for server n. A thousand servers hold the sums of a
        thousand others, and sets would take a hundred times as much memory."""

    def decoded(self, subscriptions: Iterable[bytes]) -> Mapping[bytes, Subscription]:
        """Those of some subscriptions that no other server has announced yet, decoded.

        Raises `MalformedMessageError` when one cannot be decoded.
        """
        holders = self._holders
        return {key: _decoded(key) for key in subscriptions if key not in holders}

    def change(self, server: int, change: SumChange, decoded: Mapping[bytes, Subscription]) -> None:
        """Applies the change of a server's sum.

        `decoded` has the subscriptions that have not been known to be decodable before; others may have been withdrawn
        since.
        """
        holders, bit = self._holders, 1 << server
        for key in change.added:
            held = holders.get(key)
            if held is None:
                self._matcher.add(key, decoded[key] if key in decoded else _decoded(key))
                holders[key] = bit
            else:
                holders[key] = held | bit
        for key in change.withdrawn:
            held = holders.get(key, 0)
            if held == bit:
                del holders[key]
                self._matcher.remove(key)
            elif held & bit:
                holders[key] = held ^ bit

    def replace(self, server: int, subscriptions: Sequence[bytes], decoded: Mapping[bytes, Subscription]) -> None:
        """Takes a whole sum in place of what is known of a server. `decoded` is as in `change`."""
        wanted = set(subscriptions)
        former = tuple(subscription for subscription in self.held_by(server) if subscription not in wanted)
        self.change(server, SumChange(tuple(subscriptions), former), decoded)

    def held_by(self, server: int) -> list[bytes]:
        """The sum of a server."""
        bit = 1 << server
        return [subscription for subscription, holders in self._holders.items() if holders & bit]

    def matching(self, message: Message, publication_server: int) -> Servers:
        """The publication server and all others with a subscription that matches a publication, in ascending order."""
        holders = 1 << publication_server
        for subscription in self._matcher.match(message):
            holders |= self._holders[subscription]
        bits = np.frombuffer(holders.to_bytes(self._bytes, "little"), np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.uint16)

    def texts(self, servers: Iterable[str]) -> Mapping[str, list[str]]:
        """Subscriptions of each server that has any, for people; the servers' names are in the order of their
        numbers."""
        texts = {
            server: [format_subscription(decode_subscription(subscription)) for subscription in self.held_by(number)]
            for number, server in enumerate(servers)
        }
        return {server: sorted(subscriptions) for server, subscriptions in texts.items() if subscriptions}
