"""MEDYM: match early, then dynamic multicast.

Fengyun Cao, Jaswinder Pal Singh: "MEDYM: Match-early and dynamic multicast for content-based publish-subscribe service
networks", Technical Report 692-04, Princeton University, 2004. Rules, with its sections:

1. Every server knows the sum of subscriptions of every other one (3), from announcements of changes (4.2.1). A server
   sends its announcements to all others itself, numbered; a server that has missed one asks for the whole sum. A
   restarted neighbour is sent the whole sum, and its own former sum is forgotten.
2. Every server knows how far all servers are from each other, and which are overloaded (4.2.2): each one announces the
   round trips of its links, and whether it has sent more publications than `overload_threshold` for each one received.
3. A publication is matched once, at its publication server, against the sums. The servers whose sums match are its
   destination list, which travels in the header (3).
4. A server that gets a publication notifies its own clients, by their own subscriptions, and splits the rest of the
   list among next hops (3.1; `decisions`). It keeps nothing of the tree.
5. A server that cannot reach a next hop runs the routing function again without it (3.1.3): for publications still to
   come, and for those that the neighbour has not acknowledged. Links hand the latter back.
6. What is handed back may have been received and passed on. Copies that are sent again are therefore marked, and
   servers remember the publications that they received: of two copies of which one is marked, clients are notified
   once. Each copy is passed on by its own list, because another copy may have had another list. The paper leaves this
   open.

The paper does not decide when subscriptions are announced: the first change is announced at once, further ones together
after `announce_every`. That subscriptions go to servers with matching advertisements only (4.2.1), helpers (3.1.2)
and coordinates in place of round trips (4.2.2) are left out.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from broker_service.errors import MalformedMessageError
from broker_service.language import Publication, Subscription
from broker_service.language.wire import encode_predicates
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.dispatch import DispatchingRouter
from broker_service.routing.interface import Action, Actions, Deliver, Recall, RouterContext, Send, SetTimer, TimerKey
from broker_service.routing.matcher import Matcher
from broker_service.routing.medym.decisions import Copy, Decisions
from broker_service.routing.medym.destination_lists import is_rerouted
from broker_service.routing.medym.interests import OtherSums, OwnSum
from broker_service.routing.medym.load import Load
from broker_service.routing.medym.locations import Locations
from broker_service.routing.medym.mesh import prepared_mesh
from broker_service.routing.medym.messages import (
    Announcement,
    Control,
    Status,
    WholeSum,
    WholeSumRequest,
    decode_control,
)
from broker_service.routing.medym.options import MedymOptions

_LABELS: Mapping[type[Control], str] = {
    Announcement: "subscriptions",
    WholeSum: "subscriptions",
    WholeSumRequest: "request",
    Status: "status",
}
"""Purposes of control messages, for the log."""


class _Timer(enum.Enum):
    ANNOUNCEMENT = enum.auto()
    """Further changes of subscriptions are announced when it runs out."""
    STATUS = enum.auto()
    """Round trips and load are looked at when it runs out."""


class MedymRouter(DispatchingRouter):
    """See the module."""

    def __init__(self, context: RouterContext[MedymOptions]) -> None:
        super().__init__({Kind.PUBLISH: self._receive_publication, Kind.CONTROL: self._receive_control})
        self._context = context
        self._options = context.options
        self._mesh = prepared_mesh(context.prepared)
        self._own = self._mesh.numbers[context.broker]
        self._clients: Matcher[tuple[ClientId, str]] = context.matcher()
        self._subscriptions: dict[str, bytes] = {}
        """Encoded subscriptions of clients here, by their ids."""
        self._sum = OwnSum(context.incarnation)
        self._others = OtherSums(context.matcher(), len(self._mesh.servers))
        self._incarnations: dict[BrokerId, int] = {}
        self._locations = Locations(self._mesh, self._own)
        self._load = Load(self._options.overload_threshold)
        self._decisions = Decisions(self._options, self._mesh, self._own, self._locations)
        self._received: dict[str, bool] = {}
        """Ids of the latest publications that have come here; True for those whose copy was rerouted."""
        self._running: set[_Timer] = set()
        for neighbour, link in context.links.items():
            self._decisions.set_reachable(self._mesh.numbers[neighbour], link.up)

    # Clients

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._clients.add((client, id), subscription)
        self._subscriptions[id] = encode_predicates(subscription.predicates)
        self._sum.add(self._subscriptions[id])
        return self._announce_soon()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        self._clients.remove((client, id))
        self._sum.remove(self._subscriptions.pop(id))
        return self._announce_soon()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        responsible = self._others.matching(message, self._own)
        self._load.received += 1
        return [self._notification(message), *self._sends(message, self._decisions.first_copies(responsible))]

    # Publications of neighbours

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        copies = self._decisions.copies(message.header)
        notification = () if self._is_second(message) else (self._notification(message),)
        self._load.received += 1
        return [*notification, *self._sends(message, copies)]

    def _is_second(self, message: Message) -> bool:
        """True when this copy or the one before it was rerouted. Otherwise two publications have the same id."""
        first = self._received.get(message.id)
        return first is not None and (first or is_rerouted(message.header))

    def _notification(self, message: Message) -> Action:
        clients = dict.fromkeys(client for client, _ in self._clients.match(message))
        self._received[message.id] = is_rerouted(message.header)
        if len(self._received) > self._options.remembered:
            del self._received[next(iter(self._received))]
        return Deliver(tuple(clients), message)

    def _sends(self, message: Message, copies: Sequence[Copy]) -> Iterator[Action]:
        self._load.sent += len(copies)
        for neighbour, header in copies:
            yield Send(neighbour, msgspec.structs.replace(message, header=header, hops=message.hops + 1))

    def link_down(self, neighbour: BrokerId) -> Actions:
        self._decisions.set_reachable(self._mesh.numbers[neighbour], False)
        return [Recall(neighbour)]

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return [action for message in messages for action in self._sends_again(neighbour, message)]

    def _sends_again(self, neighbour: BrokerId, message: Message) -> Iterator[Action]:
        if message.kind is not Kind.PUBLISH:
            yield Send(neighbour, message)
            return
        for receiver, header in self._decisions.rerouted(message.header):
            label = message.label if receiver == neighbour else "rerouted"
            yield Send(receiver, msgspec.structs.replace(message, header=header), label)

    # Sums, locations and loads of servers

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        server = self._mesh.numbers[neighbour]
        self._decisions.set_reachable(server, True)
        former = self._incarnations.get(neighbour)
        self._incarnations[neighbour] = incarnation
        actions = self._start_status()
        if former is not None and former != incarnation:
            self._others.forget(server)
            actions += [
                Send(neighbour, self._message(self._sum.whole())),
                Send(neighbour, self._message(self._status())),
            ]
        return actions

    def timer(self, key: TimerKey) -> Actions:
        if key is _Timer.ANNOUNCEMENT:
            self._running.discard(_Timer.ANNOUNCEMENT)
            return self._announce_soon()
        changed = self._load.has_changed()
        changed |= self._measure()
        again = SetTimer(_Timer.STATUS, self._options.status_every)
        return [again, *(self._to_all(self._status()) if changed else ())]

    def tables(self) -> Mapping[str, object]:
        return {"subscription_sums": self._others.texts(self._mesh.servers)}

    def _receive_control(self, neighbour: BrokerId, message: Message) -> Actions:
        control = decode_control(message.header)
        server = self._mesh.numbers[neighbour]
        match control:
            case Announcement():
                self._check_incarnation(neighbour, control)
                if not self._others.apply(server, control):
                    return [Send(neighbour, self._message(WholeSumRequest()))]
            case WholeSum():
                self._check_incarnation(neighbour, control)
                self._others.replace(server, control)
            case WholeSumRequest():
                return [Send(neighbour, self._message(self._sum.whole()))]
            case Status():
                if self._locations.learn(server, control.round_trips):
                    self._decisions.forget()
                self._decisions.set_overloaded(server, control.overloaded)
        return ()

    def _check_incarnation(self, neighbour: BrokerId, control: Announcement | WholeSum) -> None:
        if control.incarnation != self._incarnations.get(neighbour):
            raise MalformedMessageError(f"subscriptions of incarnation {control.incarnation} of {neighbour}")

    def _announce_soon(self) -> list[Action]:
        """Announces changes now, or together when `announce_every` since the last announcement is over."""
        if _Timer.ANNOUNCEMENT in self._running:
            return []
        announcement = self._sum.announcement()
        if announcement is None:
            return []
        self._running.add(_Timer.ANNOUNCEMENT)
        interval = SetTimer(_Timer.ANNOUNCEMENT, self._options.announce_every, awaited=True)
        return [*self._to_all(announcement), interval]

    def _start_status(self) -> list[Action]:
        """Begins to look at round trips and load, unless no server uses them."""
        needed = self._options.locations == "measured" or self._options.algorithm == "balanced"
        if not needed or _Timer.STATUS in self._running:
            return []
        self._running.add(_Timer.STATUS)
        return [SetTimer(_Timer.STATUS, self._options.status_every)]

    def _measure(self) -> bool:
        changed = self._locations.measure(self._context.links)
        if changed:
            self._decisions.forget()
        return changed

    def _status(self) -> Status:
        return Status(self._locations.announced(), self._load.overloaded)

    def _to_all(self, control: Control) -> Iterator[Action]:
        message = self._message(control)
        for neighbour in self._context.links:
            yield Send(neighbour, message)

    def _message(self, control: Control) -> Message:
        return Message(Kind.CONTROL, self._context.broker, b"", encode_header(control), 1, _LABELS[type(control)])
