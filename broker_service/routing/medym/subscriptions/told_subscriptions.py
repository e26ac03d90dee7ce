"""Subscriptions that one server has told another of, at either end, where they go to matching advertisers alone.

1. A server tells another one of each subscription in its sum that matches an advertisement there, and withdraws it
   there when it or the last such advertisement ends. It numbers these changes.
2. Changes may travel by different ways, come twice, or be lost with a server on their way. So a receiver applies a
   change only if none of a greater number for the same subscription has come, and *confirms* it to the server that made
   it. What is not confirmed is told again.
3. A change is for one incarnation of its receivers. A server that has been restarted is told anew what matches the
   advertisements that it announces then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from broker_service.routing.medym.subscriptions.advertisements import KnownAdvertisements
from broker_service.routing.medym.sums import KnownSums, OwnSum, SumChange


class Telling(NamedTuple):
    """A change that some servers are told of."""

    number: int
    id: str
    """Identifier of a subscription with this content, for the log."""
    subscription: bytes
    stands: bool
    """False when the subscription is withdrawn from those servers."""
    incarnation: int
    """Incarnation of the servers that are told."""


class ToldServers:
    """The other servers to which this server has announced its subscriptions, and which of them."""

    def __init__(self, advertisements: KnownAdvertisements) -> None:
        self._sum = OwnSum()
        self._ids: dict[bytes, str] = {}
        """Identifier of a subscription with each content in the sum."""
        self._advertisements = advertisements
        self._number = 0
        self._incarnations: dict[int, int] = {}
        """Incarnations of the servers that have been told of anything."""
        self._told: defaultdict[int, dict[bytes, Telling]] = defaultdict(dict)
        """The last change that each server was told of each subscription, confirmed withdrawals left out."""
        self._unconfirmed: defaultdict[int, dict[int, Telling]] = defaultdict(dict)
        """Last changes that are not confirmed, by server and by their numbers."""

    def add(self, id: str, subscription: bytes) -> None:
        """A client has this subscription."""
        self._ids.setdefault(subscription, id)
        self._sum.add(subscription)

    def remove(self, subscription: bytes) -> None:
        """A client has this subscription no more."""
        self._sum.remove(subscription)

    def changes(self, incarnation_of: Callable[[int], int]) -> Iterator[tuple[Telling, list[int]]]:
        """Changes to tell of, since subscriptions or advertisements changed, each with the servers that it is for.

        `incarnation_of` is the latest incarnation of a server that is known.
        """
        change = self._sum.announce()
        touched = (*change.added, *change.withdrawn)
        standing = dict.fromkeys(self._sum.announced)
        changed = dict.fromkeys(self._advertisements.take_changed())
        receivers: defaultdict[tuple[bytes, bool, int], list[int]] = defaultdict(list)
        for server in dict.fromkeys((*changed, *(self._advertisements.servers if touched else ()))):
            incarnation = incarnation_of(server)
            if self._incarnations.get(server) != incarnation:
                self._forget(server)
                self._incarnations[server] = incarnation
            told = self._told[server]
            for key in dict.fromkeys((*standing, *told)) if server in changed else touched:
                stands = key in standing and self._advertisements.match(server, key)
                if stands != (key in told and told[key].stands):
                    receivers[key, stands, incarnation].append(server)
        for (key, stands, incarnation), servers in receivers.items():
            self._number += 1
            telling = Telling(self._number, self._ids[key], key, stands, incarnation)
            for server in servers:
                self._note(server, telling)
            yield telling, sorted(servers)
        for key in change.withdrawn:
            del self._ids[key]

    def confirm(self, server: int, numbers: Iterable[int]) -> None:
        """A server has received the changes with these numbers."""
        for number in numbers:
            telling = self._unconfirmed[server].pop(number, None)
            if telling is not None and not telling.stands:
                del self._told[server][telling.subscription]

    def unconfirmed(self, server: int) -> list[Telling]:
        """The changes that a server has been told of and has not confirmed."""
        return list(self._unconfirmed[server].values())

    @property
    def awaited(self) -> list[int]:
        """The servers that have not confirmed all changes."""
        return [server for server, unconfirmed in self._unconfirmed.items() if unconfirmed]

    def _note(self, server: int, telling: Telling) -> None:
        former = self._told[server].get(telling.subscription)
        if former is not None:
            self._unconfirmed[server].pop(former.number, None)
        self._told[server][telling.subscription] = self._unconfirmed[server][telling.number] = telling

    def _forget(self, server: int) -> None:
        self._told.pop(server, None)
        self._unconfirmed.pop(server, None)


class TellingServers:
    """The subscriptions that other servers have told this one of; they are added to the sums it matches against."""

    def __init__(self, sums: KnownSums, remembered: int) -> None:
        """`remembered` is the number of withdrawals that are recognised when an earlier change comes after them."""
        self._sums = sums
        self._remembered = remembered
        self._incarnations: defaultdict[int, int] = defaultdict(int)
        self._standing: defaultdict[int, dict[bytes, int]] = defaultdict(dict)
        """Number of the change that made a subscription valid, by server and subscription."""
        self._withdrawn: dict[tuple[int, bytes], int] = {}
        """Number of the change that withdrew a subscription, by server and subscription."""
        self._withdrawn_of: defaultdict[int, dict[tuple[int, bytes], None]] = defaultdict(dict)
        """Keys of `_withdrawn`, by server."""

    def begin(self, server: int, incarnation: int) -> bool:
        """A server runs in an incarnation; a later one than before has told nothing yet.

        False when a later one has begun already.
        """
        if incarnation > self._incarnations[server]:
            self._incarnations[server] = incarnation
            if self._standing.pop(server, None):
                self._sums.replace(server, ())
            for key in self._withdrawn_of.pop(server, ()):
                self._withdrawn.pop(key, None)
        return incarnation == self._incarnations[server]

    def apply(self, server: int, telling: Telling) -> None:
        """Applies a change that the present incarnation of a server has told of.

        Raises `MalformedMessageError` for a subscription that cannot be decoded.
        """
        key, standing = telling.subscription, self._standing[server]
        if telling.number <= max(standing.get(key, 0), self._withdrawn.get((server, key), 0)):
            return
        if telling.stands:
            self._sums.change(server, SumChange((key,)))
            standing[key] = telling.number
            self._recall((server, key))
            return
        self._sums.change(server, SumChange((), (key,)))
        standing.pop(key, None)
        self._withdrawn[server, key] = telling.number
        self._withdrawn_of[server][server, key] = None
        if len(self._withdrawn) > self._remembered:
            self._recall(next(iter(self._withdrawn)))

    def _recall(self, key: tuple[int, bytes]) -> None:
        """Forgets a withdrawal, if there was one."""
        if self._withdrawn.pop(key, None) is not None:
            self._withdrawn_of[key[0]].pop(key, None)
