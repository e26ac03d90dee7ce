"""MEDYM: match early, then dynamic multicast.

Fengyun Cao, Jaswinder Pal Singh: "MEDYM: Match-early and dynamic multicast for content-based publish-subscribe service
networks", Technical Report 692-04, Princeton University, 2004. Rules, with its sections:

1. Every server knows the sum of subscriptions of every other one (3), from announcements of changes (4.2.1), which are
   numbered (`server_states`) and passed on along a tree (`relay`). A server that has missed one is sent the whole sum.
   The former sum of a restarted server is forgotten. With `subscriptions: advertised` that holds for advertisements,
   and a subscription goes to the servers with a matching one alone (`advertised_exchange`).
2. Every server knows how far all servers are from each other, and which are overloaded (4.2.2): each one announces the
   round trips of its links, or its network coordinates, and whether it has sent more publications than
   `overload_threshold` for each one received.
3. A publication is matched once, at its publication server, against the sums. The servers whose sums match are its
   destination list, which travels in the header (3).
4. A server that gets a publication notifies its own clients, by their own subscriptions, and splits the rest of the
   list among next hops (3.1; `decisions`). It keeps nothing of the tree.
5. A server that cannot reach a next hop runs the routing function again without it (3.1.3): for publications still to
   come, and for those that the neighbour has not acknowledged. Links hand the latter back.
6. What is handed back may have been received and passed on. Copies that are sent again are therefore marked, and
   servers remember the publications that they received (`common.recognition`): of two copies of which one is marked,
   clients are notified once. Each copy is passed on by its own list, because another copy may have had another list.
   The paper leaves this open.

The paper does not decide when subscriptions are announced: the first change is announced at once, and further ones
together after `announce_every`; likewise, announcements are passed on at once or together, after `pass_on_every`.
Helpers (3.1.2) are left out.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.dispatch import DispatchingRouter
from broker_service.routing.interface import (
    Action,
    Actions,
    Recall,
    RecallsMessages,
    RouterContext,
    Send,
    SetTimer,
    TimerKey,
)
from broker_service.routing.medym.announcements.announcement_tree import AnnouncementTree
from broker_service.routing.medym.announcements.relay import Relay, bundled
from broker_service.routing.medym.announcements.repairs import Repairs
from broker_service.routing.medym.announcements.server_states import Applied, ServerStates
from broker_service.routing.medym.locations.coordinate_locations import CoordinateLocations
from broker_service.routing.medym.locations.interface import KnownLocations
from broker_service.routing.medym.locations.round_trips import RoundTripLocations
from broker_service.routing.medym.mesh import prepared_mesh
from broker_service.routing.medym.messages import (
    Announcement,
    Bundle,
    Change,
    Confirmation,
    Control,
    Parting,
    State,
    Status,
    Version,
    Versions,
    decode_control,
)
from broker_service.routing.medym.multicast.decisions import Decisions
from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.publications import Publications
from broker_service.routing.medym.subscriptions.advertised_exchange import AdvertisedExchange
from broker_service.routing.medym.subscriptions.exchange import Exchange, SubscriptionBroadcast
from broker_service.routing.medym.subscriptions.interests import KnownSums

_LABELS: Mapping[type[Control], str] = {Bundle: "announcements", Versions: "versions", Parting: "parting"}
"""Purposes of control messages, for the log."""


class _Timer(enum.Enum):
    ANNOUNCEMENT = enum.auto()
    """Timer at whose end further changes of this server's state are announced."""
    PASSING_ON = enum.auto()
    """Timer at whose end further announcements are sent."""
    STATUS = enum.auto()
    """Timer at whose end round trips and load are looked at."""
    EXCHANGE = enum.auto()
    """Timer at whose end further subscriptions and confirmations are sent."""
    REPETITION = enum.auto()
    """Timer at whose end subscriptions that have not been confirmed are sent again."""

    # The inherited hash is a Python call on every look whether a timer runs.
    __hash__ = object.__hash__


class _Asking(NamedTuple):
    """Timer at whose end a neighbour is asked for states."""

    neighbour: BrokerId


class MedymRouter(DispatchingRouter, RecallsMessages):
    """MEDYM's router: one server of the mesh."""

    def __init__(self, context: RouterContext[MedymOptions]) -> None:
        self._context = context
        self._options = context.options
        self._mesh = prepared_mesh(context.prepared)
        self._own = self._mesh.numbers[context.broker]
        self._announced = 0
        """Number of the last announcement of this server."""
        self._sums = KnownSums(context.matcher(), len(self._mesh.servers), self._own)
        self._locations: KnownLocations = (
            CoordinateLocations(self._mesh, self._own)
            if self._options.locations == "gnp"
            else RoundTripLocations(self._mesh, self._own)
        )
        self._decisions = Decisions(self._options, self._mesh, self._own, self._locations)
        self._publications = Publications(context, self._sums, self._decisions, self._own)
        super().__init__(
            {
                Kind.PUBLISH: self._publications.receive,
                Kind.CONTROL: self._receive_control,
                Kind.SUBSCRIBE: self._receive_subscription,
                Kind.UNSUBSCRIBE: self._receive_subscription,
            }
        )
        self._exchange: Exchange
        self._sent: AdvertisedExchange | None = None
        """The exchange, where servers send subscriptions to one another; None where announcements bring them to all."""
        if self._options.subscriptions == "broadcast":
            self._exchange = SubscriptionBroadcast(self._own, self._sums)
        else:
            self._exchange = self._sent = AdvertisedExchange(
                context, self._mesh, self._sums, self._decisions, self._incarnation_of
            )
        self._states = ServerStates(
            self._own, len(self._mesh.servers), self._exchange.others, self._locations, self._decisions
        )
        self._relay = Relay(self._own, AnnouncementTree(len(self._mesh.servers), self._options.fan_out))
        self._repairs = Repairs(context.now)
        self._interrupted: set[int] = set()
        """Servers whose links have failed. At the first meeting of two others, neither has missed anything."""
        self._changed_status: Status | None = None
        """A status that is yet to be announced."""
        self._running: set[TimerKey] = set()
        for neighbour, link in context.links.items():
            self._decisions.set_reachable(self._mesh.numbers[neighbour], link.up)
            if context.incarnation > 1 and not link.up:
                self._relay.set_failed(self._mesh.numbers[neighbour], True)

    # Clients

    def advertise(self, client: ClientId, id: str, advertisement: Advertisement) -> Actions:
        self._exchange.advertise(id, advertisement)
        return self._announce_soon()

    def unadvertise(self, client: ClientId, id: str) -> Actions:
        self._exchange.unadvertise(id)
        return self._announce_soon()

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._publications.clients.add((client, id), subscription)
        self._exchange.subscribe(id, subscription)
        return self._announce_soon()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        self._publications.clients.remove((client, id))
        self._exchange.unsubscribe(id)
        return self._announce_soon()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return self._publications.publish(message)

    def link_down(self, neighbour: BrokerId) -> Actions:
        self._decisions.set_reachable(self._mesh.numbers[neighbour], False)
        self._interrupted.add(self._mesh.numbers[neighbour])
        recalled = [Recall(neighbour)] if self._options.reroutes else []
        return [*recalled, *self._choose_neighbours(neighbour)]

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        """Neighbours exchange versions when the link works again, instead of all but publications."""
        return self._publications.returned(neighbour, messages)

    # Sums, locations and loads of servers

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        server = self._mesh.numbers[neighbour]
        self._decisions.set_reachable(server, True)
        actions = [*self._start_status(), *self._choose_neighbours(neighbour)]
        restarted = State(server, Version(incarnation, 0), ())
        if server in self._states.versions and self._states.apply(restarted) is Applied.NEW:
            self._relay.add(restarted, self._own)
        self._repairs.link_up(server)
        first = incarnation == self._context.incarnation == 1 and server not in self._interrupted
        if not first and server in self._relay.neighbours:
            actions.append(Send(neighbour, self._message(self._versions())))
        if self._sent is not None:
            self._sent.begin(server, incarnation)
            actions += self._sent.repeated([server])
        return [*actions, *self._announce_soon()]

    def timer(self, key: TimerKey) -> Actions:
        self._running.discard(key)
        if isinstance(key, _Asking):
            return self._ask(key.neighbour)
        if key is _Timer.REPETITION and self._sent is not None:
            return [*self._sent.repeated(self._sent.unconfirmed), *self._announce_soon()]
        if key is not _Timer.STATUS:
            return self._announce_soon()
        changed = self._publications.load.has_changed()
        changed |= self._measure()
        if changed:
            self._changed_status = self._status()
        # A message opens a link that is made on demand, and its round trip is measured.
        message = self._message(Bundle(()))
        opened = [Send(neighbour, message) for neighbour in self._locations.unmeasured(self._context.links)]
        return [*opened, *self._start_status(), *self._announce_soon()]

    def index(self) -> None:
        self._sums.index()

    def declared(self) -> Iterator[int]:
        others = (server for server in range(len(self._mesh.servers)) if server != self._own)
        return (len(content) for server in others for content in self._exchange.declared_by(server))

    def tables(self) -> Mapping[str, object]:
        names = self._mesh.servers
        return {"subscription_sums": self._sums.texts(names), **self._exchange.tables(names)}

    def _receive_control(self, neighbour: BrokerId, message: Message) -> Actions:
        control = decode_control(message.header, self._exchange.decoded)
        server = self._mesh.numbers[neighbour]
        match control:
            case Bundle():
                self._context.require_room(message.size)
                return self._receive_announcements(neighbour, control.announcements)
            case Versions():
                return self._send_lacking(neighbour, control)
            case Parting():
                self._relay.dismiss(server)
                return ()
            case Confirmation():
                self._exchange.confirm(server, control)
                return ()

    def _receive_subscription(self, neighbour: BrokerId, message: Message) -> Actions:
        return [*self._exchange.receive(neighbour, message), *self._announce_soon()]

    def _incarnation_of(self, server: int) -> int:
        return self._states.incarnation_of(server)

    def _receive_announcements(self, neighbour: BrokerId, announcements: Sequence[Announcement]) -> Actions:
        """Applies announcements and passes on the new ones; asks for the states of which one before is missing."""
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
        request = self._ask(neighbour) if is_missing else ()
        return [*request, *self._announce_soon()]

    def _ask(self, neighbour: BrokerId) -> Actions:
        """Asks a neighbour for the states that this server lacks, now or as soon as it may."""
        wait, key = self._repairs.wait_to_ask(self._mesh.numbers[neighbour]), _Asking(neighbour)
        if not wait:
            return (Send(neighbour, self._message(self._versions())),)
        if key in self._running:
            return ()
        self._running.add(key)
        return (SetTimer(key, wait, awaited=True),)

    def _send_lacking(self, neighbour: BrokerId, received: Versions) -> Actions:
        """Takes a server for a neighbour, and sends it the states that it lacks, with this server's own."""
        for server, _ in received.versions:
            self._states.check_server(server)
        receiver = self._mesh.numbers[neighbour]
        self._relay.admit(receiver)
        versions = self._repairs.with_sent(receiver, dict(received.versions))
        own = Version(self._context.incarnation, self._announced)
        lacking = list(self._states.lacking(versions))
        if own > versions.get(self._own, Version(own.incarnation, 0)):
            lacking.append(
                State(self._own, own, self._exchange.own.announced, self._status() if self._uses_status else None)
            )
        self._repairs.note_sent(receiver, lacking)
        return [Send(neighbour, self._message(bundle)) for bundle in bundled(lacking)]

    def _choose_neighbours(self, neighbour: BrokerId) -> Iterator[Action]:
        """Neighbours in the tree of announcements, now that a link has failed or works again."""
        server = self._mesh.numbers[neighbour]
        joined, parted = self._relay.set_failed(server, not self._context.links[neighbour].up)
        for other in sorted(joined - {server}):
            yield Send(self._mesh.servers[other], self._message(self._versions()))
        for other in sorted(parted):
            yield Send(self._mesh.servers[other], self._message(Parting()))

    def _versions(self) -> Versions:
        own = (self._own, Version(self._context.incarnation, self._announced))
        return Versions((own, *self._states.versions.items()))

    def _announce_soon(self) -> list[Action]:
        """Announces changes and passes on what waits: now, or when the interval since the last time is over."""
        actions: list[Action] = []
        if _Timer.ANNOUNCEMENT not in self._running and self._announce_changes():
            actions.append(self._awaited(_Timer.ANNOUNCEMENT, self._options.announce_every))
        if _Timer.PASSING_ON not in self._running and self._relay.waiting:
            actions += self._pass_on()
            actions.append(self._awaited(_Timer.PASSING_ON, self._options.pass_on_every))
        if self._sent is not None:
            actions += self._send_soon(self._sent)
        return actions

    def _send_soon(self, exchange: AdvertisedExchange) -> Iterator[Action]:
        """Sends subscriptions to the servers that need them, and again to those that have not confirmed them."""
        if _Timer.EXCHANGE not in self._running and (sends := exchange.due()):
            yield from sends
            yield self._awaited(_Timer.EXCHANGE, self._options.pass_on_every)
        if _Timer.REPETITION not in self._running and exchange.unconfirmed:
            yield self._awaited(_Timer.REPETITION, self._options.repeat_after)

    def _announce_changes(self) -> bool:
        """Announces the changes of this server's own state. False when there are none."""
        if not self._exchange.own.touched and self._changed_status is None:
            return False
        change = self._exchange.own.announce()
        status, self._changed_status = self._changed_status, None
        if not (change.added or change.withdrawn or status is not None):
            return False
        self._announced += 1
        self._exchange.announced(change)
        version = Version(self._context.incarnation, self._announced)
        self._relay.add(Change(self._own, version, change.added, change.withdrawn, status), self._own)
        return True

    def _pass_on(self) -> Iterator[Action]:
        for neighbours, bundle in self._relay.bundles():
            message = self._message(bundle)
            for neighbour in neighbours:
                yield Send(self._mesh.servers[neighbour], message)

    def _awaited(self, timer: _Timer, after: float) -> SetTimer:
        self._running.add(timer)
        return SetTimer(timer, after, awaited=True)

    @property
    def _uses_status(self) -> bool:
        """True when servers use the locations or the loads of others."""
        return self._options.locations != "given" or self._options.algorithm == "balanced"

    def _start_status(self) -> list[Action]:
        """Has this server look at its round trips and its load in a while."""
        if not self._uses_status or _Timer.STATUS in self._running:
            return []
        self._running.add(_Timer.STATUS)
        return [SetTimer(_Timer.STATUS, self._options.status_every)]

    def _measure(self) -> bool:
        changed = self._locations.measure(self._context.links)
        if changed:
            self._decisions.forget()
        return changed

    def _status(self) -> Status:
        return Status(self._locations.announced(), self._publications.load.overloaded)

    def _message(self, control: Control) -> Message:
        return Message(Kind.CONTROL, self._context.broker, b"", encode_header(control), 1, _LABELS[type(control)])
