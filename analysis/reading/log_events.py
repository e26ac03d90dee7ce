"""Rare log events, kept whole: operations of clients, faults and their heals, sessions and neighbours lost and
found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from sys import intern
from typing import NamedTuple

from record.log import Event
from record.time_units import SECOND


class LogPosition(NamedTuple):
    """The position of a record: its time, then its place in the logs, which orders what happened at the same time."""

    time: int
    file: str
    offset: int
    line: int


class ClientOperation(NamedTuple):
    """A client's (un)subscription, composite subscription or (un)advertisement, or the broker's answer to one."""

    at: LogPosition
    variant: int
    event: Event
    kind: str
    """The operation: the event's own value, or the operation that is answered."""
    client: str
    id: str
    node: str
    """The driver that runs the client."""
    broker: str | None
    predicates: bytes
    """JSON, because numbers in them may have more than 64 bits; empty for none."""
    pattern: str | None = None
    """Notation of a composite subscription."""
    within: int | None = None
    """The window of a composite subscription, nanoseconds."""
    reason: str = ""
    """Reason of a rejection."""


class ClientOperations:
    """Operations and answers, by variant."""

    row = ClientOperation

    def __init__(self) -> None:
        self._of: dict[int, list[ClientOperation]] = {}

    def add(self, row: ClientOperation) -> None:
        """Keeps an operation. Equal names are kept once, because there may be millions of operations."""
        broker = None if row.broker is None else intern(row.broker)
        row = row._replace(client=intern(row.client), id=intern(row.id), node=intern(row.node), broker=broker)
        self._of.setdefault(row.variant, []).append(row)

    def __iter__(self) -> Iterator[ClientOperation]:
        return chain.from_iterable(self._of.values())

    def pop(self, variant: int) -> list[ClientOperation]:
        """Takes out the operations of one variant."""
        return self._of.pop(variant, [])


class OutageEvent(NamedTuple):
    """The start or the end of an outage: of a broker or a link (`node` is empty), or of a driver's session."""

    at: LogPosition
    variant: int
    node: str
    """The driver whose session with the broker `target` it is."""
    target: str
    """The broker, or `A-B` for a link, or `A->B` for one direction of it."""
    kind: str
    """The kind of the fault or of its heal; empty for sessions."""
    begins: bool


class ListeningEvent(NamedTuple):
    """A broker that had been restarted listened for clients, as looks from outside found."""

    variant: int
    broker: str
    not_before: int
    """Nanoseconds, as `seen`: the last look that found nobody listening, or the restart."""
    seen: int


class Reading(NamedTuple):
    """A notification for a client that reads at a rate, on its way from the broker's session to the client."""

    variant: int
    client: str
    event: Event
    """Delivered, notified or dropped, or missed, when the client is told of drops."""
    time: int
    broker: str
    publication: str
    """Empty where it was told of drops."""
    amount: int
    """Bytes of one that was delivered; the number of drops that the client was told of."""

    @property
    def seconds(self) -> float:
        return self.time / SECOND


class NumberedNotification(NamedTuple):
    """A numbered notification of a client program, of which its site logged more than that it came."""

    variant: int
    event: Event
    """Misnumbered or unprocessed."""
    time: int
    client: str
    broker: str
    publication: str
    number: int
    text: str
    """The number that was due, of one that is misnumbered."""


class EndedStream(NamedTuple):
    """A client program ended its stream, or a fault ended the program."""

    variant: int
    time: int
    broker: str


class LateService(NamedTuple):
    """A broker had a notification for a client that had left it by a move."""

    variant: int
    client: str
    broker: str
    time: int


class LostRange(NamedTuple):
    """Positions of a stream that were lost for a client, as it was told."""

    variant: int
    client: str
    stream: str
    """The publisher's broker."""
    time: int
    positions: int


class BrokerDefect(NamedTuple):
    """A broker ended because its own code failed, nearly always its router."""

    at: LogPosition
    variant: int
    broker: str
    text: str
    """A sentence, then the stack trace."""


class NeighbourChange(NamedTuple):
    """A broker lost a neighbour or regained it, by its own log."""

    at: LogPosition
    variant: int
    node: str
    neighbour: str
    up: bool
