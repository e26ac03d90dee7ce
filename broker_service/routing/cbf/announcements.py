"""Sums that a server tells its neighbours (rule 2 of `router`), and announcements of their changes: one by one, or
several together."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from broker_service.language.relations import intersects
from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.cbf.messages import encoded_bundles
from broker_service.routing.cbf.sums import Change, Entry, Sum
from broker_service.routing.cbf.table import Advertised, ForwardingTable
from broker_service.routing.common.tables import AdvertisementTable
from broker_service.routing.interface import Action, Actions, Send, SetTimer

LABEL = "sums"
"""Purpose of the control messages, for the log."""


class AnnouncementTimer(enum.Enum):
    """Keys of timers."""

    DUE = enum.auto()
    """Timer at whose end gathered changes are announced."""


class Announcements(ABC):
    """The way in which neighbours are told of changes."""

    @abstractmethod
    def tell(self, neighbour: BrokerId, changes: Iterable[Change], hops: int) -> Sequence[Action]:
        """Tells a neighbour changes of its sum, which have travelled `hops` links."""

    @abstractmethod
    def anew(self, neighbour: BrokerId, changes: Iterable[Change]) -> Sequence[Action]:
        """Tells a neighbour that has been restarted its whole sum."""

    @abstractmethod
    def due(self) -> Sequence[Action]:
        """The timer has run out."""


class Single(Announcements):
    """Each change at once, in a message of its own."""

    def tell(self, neighbour: BrokerId, changes: Iterable[Change], hops: int) -> Sequence[Action]:
        return [Send(neighbour, Message(kind, entry.id, entry.body, hops=hops + 1)) for kind, entry in changes]

    def anew(self, neighbour: BrokerId, changes: Iterable[Change]) -> Sequence[Action]:
        return self.tell(neighbour, changes, 0)

    def due(self) -> Sequence[Action]:
        return ()


class Gathered(Announcements):
    """All changes together that come up within some time after the first."""

    def __init__(self, own: BrokerId, after: float) -> None:
        """`own` is this server, `after` the time in seconds."""
        self._own = own
        self._after = after
        self._waiting: dict[BrokerId, dict[bytes, Change]] = {}
        """Changes that wait, by neighbour and content. Of two changes of a content, the second undoes the first."""

    def tell(self, neighbour: BrokerId, changes: Iterable[Change], hops: int) -> Sequence[Action]:
        timer = () if self._waiting else (SetTimer(AnnouncementTimer.DUE, self._after, awaited=True),)
        waiting = self._waiting.setdefault(neighbour, {})
        for change in changes:
            if waiting.pop(change.entry.body, None) is None:
                waiting[change.entry.body] = change
        return timer

    def anew(self, neighbour: BrokerId, changes: Iterable[Change]) -> Sequence[Action]:
        self._waiting.get(neighbour, {}).clear()
        return self.tell(neighbour, changes, 0)

    def due(self) -> Sequence[Action]:
        waiting, self._waiting = self._waiting, {}
        return [
            Send(neighbour, Message(Kind.CONTROL, self._own, b"", header, 1, LABEL))
            for neighbour, changes in waiting.items()
            for header in encoded_bundles(changes.values())
        ]


class ToldSums:
    """Sums that one server has told its neighbours in the tree, which follow the forwarding table (rule 2)."""

    def __init__(
        self,
        sums: Mapping[BrokerId, Sum],
        table: ForwardingTable,
        announcements: Announcements,
        advertisements: AdvertisementTable[Advertised] | None,
    ) -> None:
        """`advertisements` are those towards which subscriptions are told; None where they are told to all."""
        self.sums = sums
        self._table = table
        self._announcements = announcements
        self._advertisements = advertisements

    def update(self, entry: Entry, hops: int) -> list[Action]:
        """Brings the sums for all neighbours in line with the directions in which a subscription stands."""
        actions: list[Action] = []
        for neighbour, told in self.sums.items():
            wanted = self._wants(neighbour, entry)
            if wanted and entry.body not in told:
                actions += self._announcements.tell(neighbour, told.add(entry), hops)
            elif not wanted and entry.body in told:
                actions += self._announcements.tell(neighbour, told.remove(entry.body), hops)
        return actions

    def _wants(self, neighbour: BrokerId, entry: Entry) -> bool:
        """True when a subscription is part of the sum for a neighbour."""
        directions = self._table.directions(entry.body)
        if not directions or directions == (neighbour,):
            return False
        return self._advertisements is None or any(
            intersects(row.advertisement, entry.subscription)
            for row in self._advertisements
            if row.last_hop == neighbour
        )

    def withdraw(self, body: bytes, direction: BrokerId | None, hops: int) -> Actions:
        """A subscription stands in a direction no more."""
        self._table.remove(body, direction)
        actions = self.update(self._table.entry(body), hops)
        if not self._table.directions(body):
            self._table.forget(body)
        return actions
