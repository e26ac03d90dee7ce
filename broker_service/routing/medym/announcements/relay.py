"""Announcements of one server: of its own changes, and those of others, which it applies and passes on.

Of each other server it knows the announced sum, location and load in the latest version that has come. A version is an
incarnation of the server and the number of its announcements. A change is applied to the version before its own, and
once. A later incarnation begins at number 0, with an empty sum.

Announcements go to neighbours in the tree, several of them together:

1. The neighbours are those in the tree, with others in place of those that have failed (`announcement_tree`), and the
   *guests*: servers that have taken this one for their neighbour.
2. An announcement goes to the parent unless it came from there. To all other neighbours goes one and the same bundle,
   although each may find announcements in it that it has sent itself, because these are few, and one bundle is made and
   read with less work than one for each neighbour.
3. Two servers that become neighbours, or whose link comes up, exchange the versions that they have, and each sends the
   states that the other lacks.
4. The first change is announced at once, and further ones together after `announce_every`; likewise, announcements are
   passed on at once or together, after `pass_on_every`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple

import numpy as np

from broker_service.messages import BrokerId
from broker_service.routing.interface import (
    Action,
    Actions,
    MalformedMessageError,
    RouterContext,
    Send,
    SetTimer,
    TimerKey,
)
from broker_service.routing.medym.announcements.announcement_tree import AnnouncementTree
from broker_service.routing.medym.announcements.repairs import Repairs
from broker_service.routing.medym.locations.round_trips import KnownLocations
from broker_service.routing.medym.mesh import Mesh
from broker_service.routing.medym.messages import (
    Announcement,
    Bundle,
    Change,
    Parting,
    State,
    Status,
    Version,
    Versions,
    bundled,
    control_message,
)
from broker_service.routing.medym.multicast.decisions import Decisions
from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.own_status import OwnStatus
from broker_service.routing.medym.subscriptions.advertised_exchange import AdvertisedExchange
from broker_service.routing.medym.subscriptions.exchange import AnnouncedSums, Exchange
from broker_service.routing.medym.sums import SumChange, joint
from broker_service.routing.medym.timer_keys import Asking, Timer

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


class Addressed(NamedTuple):
    """A bundle and the neighbours that it goes to."""

    neighbours: list[int]
    bundle: Bundle


class Neighbours(NamedTuple):
    """Servers that have become neighbours, and such that are neighbours no more."""

    joined: Set[int]
    parted: Set[int]


_SAME_NEIGHBOURS: Final = Neighbours(frozenset(), frozenset())


class Relay:
    """The announcements that wait to be passed on, and the neighbours that they go to."""

    def __init__(self, own: int, tree: AnnouncementTree) -> None:
        """`own` is this server's number."""
        self._own = own
        self._tree = tree
        self._parent = tree.parent(own)
        self._failed = np.zeros(tree.servers, np.bool_)
        self._chosen = tree.working_neighbours(own, self._failed)
        self._guests: dict[int, None] = {}
        self.waiting: list[Announcement] = []
        """Announcements that wait to be passed on."""
        self._upwards: list[Announcement] = []
        """Waiting announcements that did not come from the parent."""

    @property
    def neighbours(self) -> set[int]:
        """Numbers of the servers to which announcements go."""
        return self._chosen | self._guests.keys()

    def set_failed(self, server: int, failed: bool) -> Neighbours:
        """Records that a link has failed, or works again. Returns the neighbours that this server then chooses."""
        had_failed, self._failed[server] = bool(self._failed[server]), failed
        if failed:
            self._guests.pop(server, None)
        if failed == had_failed or (failed and server not in self._chosen):
            return _SAME_NEIGHBOURS  # nearly always in a mesh, where most links are outside of the tree
        former, self._chosen = self._chosen, self._tree.working_neighbours(self._own, self._failed)
        return Neighbours(self._chosen - former, former - self._chosen - {server})

    def admit(self, server: int) -> None:
        """Takes a server for a neighbour, because it does so, too."""
        if server not in self._chosen:
            self._guests[server] = None

    def dismiss(self, server: int) -> None:
        """Takes a server for a guest no more."""
        self._guests.pop(server, None)

    def add(self, announcement: Announcement, source: int) -> None:
        """Takes an announcement that came from a server, which may be this one."""
        self.waiting.append(announcement)
        if source != self._parent:
            self._upwards.append(announcement)

    def bundles(self) -> list[Addressed]:
        """Takes all waiting announcements, in bundles with the neighbours that they go to."""
        waiting, upwards = self.waiting, self._upwards
        self.waiting, self._upwards = [], []
        above, neighbours = self._parent, self.neighbours
        addressed: list[Addressed] = []
        if upwards and above is not None and above in neighbours:
            for bundle in bundled(upwards):
                addressed.append(Addressed([above], bundle))
        if others := sorted(neighbours - {above}):
            for bundle in bundled(waiting):
                addressed.append(Addressed(others, bundle))
        return addressed


class Announcing:
    """Announcements of one server to its neighbours, and their requests for states that they lack."""

    def __init__(
        self,
        context: RouterContext[MedymOptions],
        mesh: Mesh,
        relay: Relay,
        states: ServerStates,
        *,
        exchange: Exchange,
        sent: AdvertisedExchange | None,
        status: OwnStatus,
        running: set[TimerKey],
    ) -> None:
        """`sent` is the exchange where servers send subscriptions to one another, and None where announcements bring
        them to all. `running` are the server's timers that run."""
        self._context = context
        self._mesh = mesh
        self._number = mesh.numbers[context.broker]
        self._relay = relay
        self._states = states
        self._exchange = exchange
        self._sent = sent
        self._status = status
        self._running = running
        self._announced = 0
        """Number of the last announcement of this server."""
        self._repairs = Repairs(context.now)
        self._interrupted: set[int] = set()
        """Servers whose links have failed. At the first meeting of two others, neither has missed anything."""

    def link_down(self, neighbour: BrokerId) -> Iterator[Send]:
        """Messages to the neighbours in the tree that are chosen anew, now that a link has failed."""
        self._interrupted.add(self._mesh.numbers[neighbour])
        return self._choose_neighbours(neighbour)

    def link_up(self, neighbour: BrokerId, incarnation: int) -> list[Send]:
        """Messages to neighbours, now that a link works (again)."""
        server = self._mesh.numbers[neighbour]
        sends = list(self._choose_neighbours(neighbour))
        restarted = State(server, Version(incarnation, 0), ())
        if server in self._states.versions and self._states.apply(restarted) is Applied.NEW:
            self._relay.add(restarted, self._number)
        self._repairs.link_up(server)
        first = incarnation == self._context.incarnation == 1 and server not in self._interrupted
        if not first and server in self._relay.neighbours:
            sends.append(self._send_versions(neighbour))
        return sends

    def receive(self, neighbour: BrokerId, announcements: Sequence[Announcement]) -> Actions:
        """Applies announcements, and takes the new ones to be passed on; asks for the states of which one before is
        missing."""
        states, server = self._states, self._mesh.numbers[neighbour]
        for announcement in announcements:
            states.check(announcement)
        is_missing = False
        for announcement in announcements:
            applied = states.apply(announcement)
            if applied is Applied.NEW:
                self._relay.add(announcement, server)
                if self._sent is not None:
                    self._sent.begin(announcement.server, announcement.version.incarnation)
            elif applied is Applied.MISSING:
                is_missing = True
        states.settle()
        return self.ask(neighbour) if is_missing else ()

    def due(self) -> list[Action]:
        """Announces changes and passes on what waits: now, or when the interval since the last time is over."""
        actions: list[Action] = []
        running, options = self._running, self._context.options
        if Timer.ANNOUNCEMENT not in running and self._announce_changes():
            running.add(Timer.ANNOUNCEMENT)
            actions.append(SetTimer(Timer.ANNOUNCEMENT, options.announce_every, awaited=True))
        if Timer.PASSING_ON not in running and self._relay.waiting:
            for neighbours, bundle in self._relay.bundles():
                message = control_message(self._context.broker, bundle)
                for neighbour in neighbours:
                    actions.append(Send(self._mesh.servers[neighbour], message))
            running.add(Timer.PASSING_ON)
            actions.append(SetTimer(Timer.PASSING_ON, options.pass_on_every, awaited=True))
        return actions

    def ask(self, neighbour: BrokerId) -> Actions:
        """Asks a neighbour for the states that this server lacks, now or as soon as it may."""
        wait, key = self._repairs.wait_to_ask(self._mesh.numbers[neighbour]), Asking(neighbour)
        if not wait:
            return (self._send_versions(neighbour),)
        if key in self._running:
            return ()
        self._running.add(key)
        return (SetTimer(key, wait, awaited=True),)

    def send_lacking(self, neighbour: BrokerId, received: Versions) -> list[Send]:
        """Takes a server for a neighbour, and sends it the states that it lacks, with this server's own."""
        for server, _ in received.versions:
            self._states.check_server(server)
        receiver = self._mesh.numbers[neighbour]
        self._relay.admit(receiver)
        versions = self._repairs.with_sent(receiver, dict(received.versions))
        own = Version(self._context.incarnation, self._announced)
        lacking = list(self._states.lacking(versions))
        if own > versions.get(self._number, Version(own.incarnation, 0)):
            lacking.append(State(self._number, own, self._exchange.own.announced, self._status.present()))
        self._repairs.note_sent(receiver, lacking)
        return [Send(neighbour, control_message(self._context.broker, bundle)) for bundle in bundled(lacking)]

    def _choose_neighbours(self, neighbour: BrokerId) -> Iterator[Send]:
        """Neighbours in the tree of announcements, now that a link has failed or works again."""
        server = self._mesh.numbers[neighbour]
        joined, parted = self._relay.set_failed(server, not self._context.links[neighbour].up)
        for other in sorted(joined - {server}):
            yield self._send_versions(self._mesh.servers[other])
        for other in sorted(parted):
            yield Send(self._mesh.servers[other], control_message(self._context.broker, Parting()))

    def _send_versions(self, neighbour: BrokerId) -> Send:
        own = (self._number, Version(self._context.incarnation, self._announced))
        versions = Versions((own, *self._states.versions.items()))
        return Send(neighbour, control_message(self._context.broker, versions))

    def _announce_changes(self) -> bool:
        """Announces the changes of this server's own state. False when there are none."""
        if not self._exchange.own.touched and self._status.changed is None:
            return False
        change = self._exchange.own.announce() if self._exchange.own.touched else SumChange()
        status, self._status.changed = self._status.changed, None
        if change.added or change.withdrawn:
            self._exchange.announced(change)
        elif status is None:
            return False
        self._announced += 1
        version = Version(self._context.incarnation, self._announced)
        self._relay.add(Change(self._number, version, change.added, change.withdrawn, status), self._number)
        return True
