"""Lines that a driver process prints on its standard output.

`Connecting` for each broker that it has connected to, then `Ready` once, then a `DriverStatus` twice a second. The
relay of client programs (`program_relay`) counts programs in place of brokers, and prints `Told` at any time.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

MOST_NAMED = 5
"""Brokers that a report names."""


class ClientCounts(msgspec.Struct):
    """Counts of what clients did and of what happened to them, since the start."""

    issued: int = 0
    """Operations handed over, of all kinds."""
    published: int = 0
    confirmed: int = 0
    rejected: int = 0
    """Operations refused by brokers or by the session."""
    notified: int = 0


class Connecting(msgspec.Struct, tag_field="event", tag="connecting"):
    """The driver connects to its brokers."""

    connected: int = 0
    waiting: list[str] = []
    """Brokers that have not answered yet, `MOST_NAMED` at most."""


class Ready(msgspec.Struct, tag_field="event", tag="ready"):
    """The driver is connected to all its brokers."""


class DriverStatus(ClientCounts, tag_field="event", tag="status"):
    """Report of a driver in progress."""

    lag_ms: float = 0.0
    """Greatest delay between the intended and the actual issue of an operation since the last report."""
    done: bool = False
    """All operations are issued."""

    @classmethod
    def total(cls, statuses: Sequence[DriverStatus]) -> DriverStatus:
        """Status of several drivers together."""
        return cls(
            issued=sum(status.issued for status in statuses),
            published=sum(status.published for status in statuses),
            confirmed=sum(status.confirmed for status in statuses),
            rejected=sum(status.rejected for status in statuses),
            notified=sum(status.notified for status in statuses),
            lag_ms=max((status.lag_ms for status in statuses), default=0.0),
            done=all(status.done for status in statuses),
        )


class Told(msgspec.Struct, frozen=True, tag_field="event", tag="told"):
    """Something about a client program that its author should know."""

    client: str
    text: str
    """A sentence without its subject, which is the program."""


class Left(msgspec.Struct, frozen=True, tag_field="event", tag="left"):
    """The clients of the latest `Depart` have left, each in the way it was to."""


Report = Connecting | Ready | DriverStatus | Told | Left
