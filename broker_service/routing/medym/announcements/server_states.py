"""States of all other servers: their announced sums, locations and loads, each in the latest version known here.

A version is an incarnation of the server and the number of its announcements. A change is applied to the version before
its own, and once. A later incarnation begins at number 0, with an empty sum.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final

from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.medym.locations.interface import KnownLocations
from broker_service.routing.medym.messages import Announcement, Change, State, Status, Version
from broker_service.routing.medym.multicast.decisions import Decisions
from broker_service.routing.medym.subscriptions.exchange import AnnouncedSums
from broker_service.routing.medym.sums import SumChange, joint

_UNKNOWN: Final = Version(0, 0)
"""A version that is lower than every other."""


class Applied(enum.Enum):
    """Result of applying an announcement."""

    NEW = enum.auto()
    KNOWN = enum.auto()
    """The version, or a later one, has been applied before."""
    MISSING = enum.auto()
    """One before it has not been applied, and neither was this one."""


class ServerStates:
    """The states of all other servers as one server knows them."""

    def __init__(
        self, own: int, servers: int, sums: AnnouncedSums, locations: KnownLocations, decisions: Decisions
    ) -> None:
        """`own` is this server's number, `servers` the number of all servers.

        Locations and loads are passed on to `locations` and `decisions`.
        """
        self._own = own
        self._servers = servers
        self._sums = sums
        self._locations = locations
        self._decisions = decisions
        self._statuses: dict[int, Status] = {}
        self.versions: dict[int, Version] = {}
        """Versions of the states that are known, by server."""
        self._pending: dict[int, list[SumChange]] = {}
        """Changes that wait to be applied to a server's sum, by server, in their order."""

    def check(self, announcement: Announcement) -> None:
        """Raises `MalformedMessageError` for an announcement that no correct server sends."""
        self.check_server(announcement.server)
        if announcement.status is not None:
            self._locations.check(announcement.server, announcement.status.location)

    def check_server(self, server: int) -> None:
        """Raises `MalformedMessageError` for a number, from 0, that no server has."""
        if server >= self._servers:
            raise MalformedMessageError(f"server {server}, and there are {self._servers}")

    def apply(self, announcement: Announcement) -> Applied:
        """Applies an announcement that `check` permits; its change of a sum is made by `settle`."""
        server, version = announcement.server, announcement.version
        known = self.versions.get(server, _UNKNOWN)
        if version <= known or server == self._own:
            return Applied.KNOWN
        if isinstance(announcement, Change):
            if version != (known.incarnation, known.number + 1):
                if version.incarnation == known.incarnation or version.number != 1:
                    return Applied.MISSING
                self._pending.pop(server, None)
                self._sums.replace(server, ())
            change = announcement.change
            if change.added or change.withdrawn:  # otherwise it announces its location or load alone
                self._pending.setdefault(server, []).append(change)
        else:
            self._pending.pop(server, None)
            self._sums.replace(server, announcement.contents)
        self.versions[server] = version
        if announcement.status is not None:
            self._learn(server, announcement.status)
        return Applied.NEW

    def settle(self) -> None:
        """Makes the changes of sums that are pending, those of one server together, because each copies its sum."""
        for server, changes in self._pending.items():
            self._sums.change(server, changes[0] if len(changes) == 1 else joint(changes))
        self._pending.clear()

    def incarnation_of(self, server: int) -> int:
        """The latest incarnation of a server that is known, 0 of one that nothing is known of."""
        return self.versions.get(server, _UNKNOWN).incarnation

    def lacking(self, versions: Mapping[int, Version]) -> Iterator[State]:
        """The states that a server with these `versions` lacks."""
        for server, version in self.versions.items():
            theirs = versions.get(server)
            if version.number if theirs is None else version > theirs:
                yield State(server, version, tuple(self._sums.held_by(server)), self._statuses.get(server))

    def _learn(self, server: int, status: Status) -> None:
        self._statuses[server] = status
        if self._locations.learn(server, status.location):
            self._decisions.forget()
        self._decisions.set_overloaded(server, status.overloaded)
