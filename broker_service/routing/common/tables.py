"""Routing tables that protocols share: rows in the order they came, found by the identifier that every broker uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Generic, Protocol, TypeVar

from broker_service.messages import BrokerId


class Row(Protocol):
    """A row of a routing table."""

    @property
    def id(self) -> str:
        """Identifier of the advertisement or the subscription."""


class AdvertisedRow(Row, Protocol):
    """A row about an advertisement."""

    @property
    def last_hop(self) -> BrokerId | None:
        """The neighbour towards the publisher; None when the publisher is a client of this broker."""


AnyRow = TypeVar("AnyRow", bound=Row)
AnyAdvertisedRow = TypeVar("AnyAdvertisedRow", bound=AdvertisedRow)


class RoutingTable(Generic[AnyRow]):
    """Rows by identifier."""

    def __init__(self) -> None:
        self._rows: Final[dict[str, AnyRow]] = {}
        self.get: Final[Callable[[str], AnyRow | None]] = self._rows.get
        """Returns the row of an identifier; None when there is none."""

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def __iter__(self) -> Iterator[AnyRow]:
        return iter(self._rows.values())

    def add(self, row: AnyRow) -> None:
        """Adds a row, in place of one with its identifier."""
        self._rows[row.id] = row


class AdvertisementTable(RoutingTable[AnyAdvertisedRow]):
    """Advertisements, and the neighbour that each came from."""

    def remove(self, id: str) -> AnyAdvertisedRow | None:
        """Removes and returns a row; None when there is none."""
        return self._rows.pop(id, None)

    def local(self) -> list[AnyAdvertisedRow]:
        """Rows whose publishers are clients of this broker."""
        return [row for row in self if row.last_hop is None]

    def from_neighbour(self, neighbour: BrokerId) -> list[AnyAdvertisedRow]:
        """Rows that came from a neighbour."""
        return [row for row in self if row.last_hop == neighbour]

    def last_hop(self, id: str) -> BrokerId | None:
        """The neighbour towards the publisher; None at the publisher's broker, and without a row."""
        row = self._rows.get(id)
        return None if row is None else row.last_hop

    def is_local(self, id: str) -> bool:
        """True when there is such a row and its publisher is a client of this broker."""
        row = self._rows.get(id)
        return row is not None and row.last_hop is None
