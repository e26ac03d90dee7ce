"""Advertisements and subscriptions that stand at some moment of a file."""

from __future__ import annotations

from collections.abc import Collection

from broker_service.language import Advertisement
from scenario.workload.file.rows import Row

Key = tuple[str, bool, str]
"""The client, True for an advertisement, and the client's name for it."""


class StandingError(Exception):
    """An operation that does not fit to what stands."""


def key_of(row: Row) -> Key:
    """The key of what a row makes or withdraws. What has no name is called by its row."""
    return row.client, row.verb in ("advertise", "unadvertise"), row.id or f"row-{row.number}"


class Standing:
    """The rows of all that stands, in the order in which it was made."""

    def __init__(self) -> None:
        self.declared = 0
        """Number of advertisements and subscriptions that were ever made."""
        self._rows: dict[Key, Row] = {}
        self._advertised: dict[str, dict[Key, Advertisement]] = {}

    def take(self, row: Row) -> None:
        """Makes or withdraws an advertisement or a subscription. Raises `StandingError`."""
        key = key_of(row)
        if row.content is not None:
            if key in self._rows:
                raise StandingError(f"{row.client} has {row.id!r} from row {self._rows[key].number} already")
            self._rows[key] = row
            self.declared += 1
        elif row.id is None:
            raise StandingError(f"{row.verb} needs the id of what it withdraws")
        elif self._rows.pop(key, None) is None:
            what = "advertisement" if key[1] else "subscription"
            raise StandingError(f"{row.client} has no {what} {row.id!r} that stands here; it cannot be withdrawn")
        if isinstance(row.content, Advertisement):
            self._advertised.setdefault(row.client, {})[key] = row.content
        elif row.verb == "unadvertise":
            del self._advertised[row.client][key]

    def advertisements(self, client: str) -> Collection[Advertisement]:
        """The advertisements of a client that stand."""
        return self._advertised.get(client, {}).values()

    def rows(self) -> tuple[Row, ...]:
        """The rows of all that stands."""
        return tuple(self._rows.values())
