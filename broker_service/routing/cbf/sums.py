"""Sums of subscriptions: the parts of all other directions that a server tells a neighbour of (MEDYM, section 2.1).

A subscription is known by its content, because a neighbour only needs to know whether a direction wants a publication
as a whole: any number of clients and servers with the same subscription are one entry of the forwarding table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from broker_service.language import Subscription
from broker_service.language.relations import covers
from broker_service.messages import Kind


class Entry(NamedTuple):
    """The content of a subscription that some client or neighbour has, with one identifier of such a subscription."""

    id: str
    """Identifier of one subscription with this content, for logs."""
    body: bytes
    """Encoded predicates, by which the subscription is known."""
    subscription: Subscription


class Change(NamedTuple):
    """A change of a sum, as the neighbour is told of it."""

    kind: Kind
    """`SUBSCRIBE` or `UNSUBSCRIBE`."""
    entry: Entry


class Sum(ABC):
    """The sum for one neighbour."""

    def __init__(self) -> None:
        self.entries: dict[bytes, Entry] = {}
        """Subscriptions that the sum stands for, by content."""

    def __contains__(self, body: bytes) -> bool:
        return body in self.entries

    @property
    @abstractmethod
    def announced(self) -> dict[bytes, Entry]:
        """The part of it that the neighbour was told."""

    @abstractmethod
    def add(self, entry: Entry) -> list[Change]:
        """Adds a subscription that it does not stand for yet."""

    @abstractmethod
    def remove(self, body: bytes) -> list[Change]:
        """Removes a subscription that the sum stands for."""


class IdenticalSum(Sum):
    """Subscriptions with equal content are one."""

    @property
    def announced(self) -> dict[bytes, Entry]:
        return self.entries

    def add(self, entry: Entry) -> list[Change]:
        self.entries[entry.body] = entry
        return [Change(Kind.SUBSCRIBE, entry)]

    def remove(self, body: bytes) -> list[Change]:
        return [Change(Kind.UNSUBSCRIBE, self.entries.pop(body))]


class CoveringSum(Sum):
    """A subscription that another one covers is left out.

    What takes the place of another is announced before the other is withdrawn, so that the neighbour forwards all the
    time what both want.
    """

    def __init__(self) -> None:
        super().__init__()
        self._announced: dict[bytes, Entry] = {}

    @property
    def announced(self) -> dict[bytes, Entry]:
        return self._announced

    def add(self, entry: Entry) -> list[Change]:
        self.entries[entry.body] = entry
        return self._announce(entry)

    def remove(self, body: bytes) -> list[Change]:
        entry = self.entries.pop(body)
        if self._announced.pop(body, None) is None:
            return []
        changes = []
        for other in self.entries.values():
            if other.body not in self._announced and covers(entry.subscription, other.subscription):
                changes += self._announce(other)
        return [*changes, Change(Kind.UNSUBSCRIBE, entry)]

    def _announce(self, entry: Entry) -> list[Change]:
        """Announces an entry unless one that is announced covers it, and withdraws those that it covers."""
        announced = self._announced
        if any(covers(other.subscription, entry.subscription) for other in announced.values()):
            return []
        covered = [other for other in announced.values() if covers(entry.subscription, other.subscription)]
        for other in covered:
            del announced[other.body]
        announced[entry.body] = entry
        return [Change(Kind.SUBSCRIBE, entry), *(Change(Kind.UNSUBSCRIBE, other) for other in covered)]
