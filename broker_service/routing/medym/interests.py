"""Sums of subscriptions: the server's own, which it announces, and those of all others, which it matches against.

The sum of a server's subscriptions is the set of the distinct ones (section 3): what two of its clients want alike is
announced once, and a publication is compared with each distinct subscription once, however many servers announced it. A
subscription is its encoded predicates here. The same predicates in another order are another subscription, which costs
a comparison and changes no result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from broker_service.language.formatting import format_subscription
from broker_service.messages import Message
from broker_service.routing.common.decoding import decode_subscription
from broker_service.routing.common.distances import Servers
from broker_service.routing.matcher import Matcher
from broker_service.routing.medym.messages import Announcement, WholeSum


class OwnSum:
    """The sum of the subscriptions of this server's clients, and the part of it that has been announced.

    Announcements are numbered from 1 on, and each holds the changes since the one before.
    """

    def __init__(self, incarnation: int) -> None:
        self._incarnation = incarnation
        self._number = 0
        self._clients: Counter[bytes] = Counter()
        """Number of clients' subscriptions that are equal."""
        self._announced: dict[bytes, None] = {}
        self._touched: dict[bytes, None] = {}

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

    def announcement(self) -> Announcement | None:
        """The changes that have not been announced; None when there are none."""
        clients, announced = self._clients, self._announced
        touched, self._touched = self._touched, {}
        added = tuple(key for key in touched if key in clients and key not in announced)
        withdrawn = tuple(key for key in touched if key in announced and key not in clients)
        if not (added or withdrawn):
            return None
        announced.update(dict.fromkeys(added))
        for subscription in withdrawn:
            del announced[subscription]
        self._number += 1
        return Announcement(self._incarnation, self._number, added, withdrawn)

    def whole(self) -> WholeSum:
        """All that has been announced."""
        return WholeSum(self._incarnation, self._number, tuple(self._announced))


class OtherSums:
    """The sums of all other servers, as far as they have been announced to this one."""

    def __init__(self, matcher: Matcher[bytes], servers: int) -> None:
        """`matcher` is an empty index, `servers` the number of servers."""
        self._matcher = matcher
        self._bytes = (servers + 7) // 8
        self._holders: dict[bytes, int] = {}
        """Servers that announced each subscription: bit n is set for server n. A thousand servers hold the sums of a
        thousand others, and sets would take a hundred times as much memory."""
        self._applied: dict[int, int] = {}
        """Number of the last announcement of each server that was applied."""

    def apply(self, server: int, announcement: Announcement) -> bool:
        """Applies an announcement once; False when one before it is missing.

        Raises `MalformedMessageError` when a subscription cannot be decoded.
        """
        expected = self._applied.get(server, 0) + 1
        if announcement.number > expected:
            return False
        if announcement.number == expected:
            self._add(server, announcement.added)
            self._withdraw(server, announcement.withdrawn)
            self._applied[server] = announcement.number
        return True

    def replace(self, server: int, whole: WholeSum) -> None:
        """Takes a whole sum in place of what is known, unless later announcements have been applied already.

        Raises `MalformedMessageError` when a subscription cannot be decoded.
        """
        if whole.number < self._applied.get(server, 0):
            return
        wanted = set(whole.subscriptions)
        self._add(server, whole.subscriptions)
        self._withdraw(server, [subscription for subscription in self._held_by(server) if subscription not in wanted])
        self._applied[server] = whole.number

    def forget(self, server: int) -> None:
        """The server was restarted, and begins anew with an empty sum."""
        self._withdraw(server, self._held_by(server))
        self._applied.pop(server, None)

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
            server: [format_subscription(decode_subscription(subscription)) for subscription in self._held_by(number)]
            for number, server in enumerate(servers)
        }
        return {server: sorted(subscriptions) for server, subscriptions in texts.items() if subscriptions}

    def _held_by(self, server: int) -> list[bytes]:
        bit = 1 << server
        return [subscription for subscription, holders in self._holders.items() if holders & bit]

    def _add(self, server: int, subscriptions: Iterable[bytes]) -> None:
        decoded = {
            subscription: decode_subscription(subscription)
            for subscription in subscriptions
            if subscription not in self._holders
        }
        for key, subscription in decoded.items():
            self._matcher.add(key, subscription)
        bit = 1 << server
        for key in subscriptions:
            self._holders[key] = self._holders.get(key, 0) | bit

    def _withdraw(self, server: int, subscriptions: Iterable[bytes]) -> None:
        bit = 1 << server
        for subscription in subscriptions:
            holders = self._holders.get(subscription, 0)
            if holders == bit:
                del self._holders[subscription]
                self._matcher.remove(subscription)
            elif holders & bit:
                self._holders[subscription] = holders ^ bit
