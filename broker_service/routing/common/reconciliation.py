"""Reconciliation with restarted neighbours, as far as every protocol needs it.

A neighbour that comes up with a new incarnation has lost its tables. Whatever came through it may have been withdrawn
meanwhile, without a message about it, so each such item is *unconfirmed* until the neighbour announces it again. It has
`reconcile_after` seconds for that, not counting the time in which the link to it is down; what it has not announced by
then is overdue, and the protocol gives it up.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from typing import Generic, TypeVar

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.interface import LinkStatus, SetTimer

Item = TypeVar("Item")


class Reconcile(msgspec.Struct, frozen=True):
    """Key of the timer that ends a neighbour's time to announce its state again."""

    neighbour: BrokerId


class Encounter(enum.Enum):
    """State of a neighbour whose link comes up, compared with the last time."""

    FIRST = enum.auto()
    """The link is up for the first time."""
    SAME = enum.auto()
    """The neighbour runs on, with its tables."""
    RESTARTED = enum.auto()
    """The neighbour has lost its tables."""


class Reconciliation(Generic[Item]):
    """Incarnations of the neighbours, and the items that restarted ones have yet to confirm."""

    def __init__(self, link_status: Mapping[BrokerId, LinkStatus], reconcile_after: float) -> None:
        self._link_status = link_status
        self._reconcile_after = reconcile_after
        self._incarnations: dict[BrokerId, int] = {}
        self._unconfirmed: dict[BrokerId, dict[Item, None]] = {}
        """In the order in which they were expected, because what is withdrawn for them is sent in that order."""

    def encounter(self, neighbour: BrokerId, incarnation: int) -> Encounter:
        """Compares a neighbour's incarnation with the one that the link was up to before, and keeps it."""
        former = self._incarnations.get(neighbour)
        self._incarnations[neighbour] = incarnation
        if former is None:
            return Encounter.FIRST
        return Encounter.SAME if former == incarnation else Encounter.RESTARTED

    def expect(self, neighbour: BrokerId, items: Iterable[Item]) -> None:
        """The neighbour was restarted: all these items came through it."""
        self._unconfirmed[neighbour] = dict.fromkeys(items)

    def confirm(self, neighbour: BrokerId, item: Item) -> None:
        """The neighbour has announced an item again."""
        unconfirmed = self._unconfirmed.get(neighbour)
        if unconfirmed is not None:
            unconfirmed.pop(item, None)

    def is_expecting(self, neighbour: BrokerId) -> bool:
        """True while the neighbour has time to confirm items."""
        return neighbour in self._unconfirmed

    def take_overdue(self, neighbour: BrokerId) -> Collection[Item]:
        """Ends the neighbour's time, and returns what it has not confirmed."""
        return self._unconfirmed.pop(neighbour, {})

    def set_timer(self, neighbour: BrokerId) -> SetTimer:
        """The action that begins the neighbour's time, or begins it anew."""
        return SetTimer(Reconcile(neighbour), self._reconcile_after, awaited=True)

    def is_up(self, neighbour: BrokerId) -> bool:
        """True when the link is up, so that the neighbour can announce state."""
        return self._link_status[neighbour].up
