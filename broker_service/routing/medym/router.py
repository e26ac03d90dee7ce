"""MEDYM: match early, then dynamic multicast.

Fengyun Cao, Jaswinder Pal Singh: "MEDYM: Match-early and dynamic multicast for content-based publish-subscribe service
networks", Technical Report 692-04, Princeton University, 2004. Rules, with its sections:

1. Every server knows the sum of subscriptions of every other one (3), from announcements of changes (4.2.1), which are
   numbered and passed on along a tree (`relay`). A server that has missed one is sent the whole sum. The former sum of
   a restarted server is forgotten. With `subscriptions: advertised` that holds for advertisements, and a subscription
   goes to the servers with a matching one alone (`advertised_exchange`).
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

The paper does not decide when subscriptions are announced (rule 4 of `relay`). Helpers (3.1.2) are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import DispatchingRouter
from broker_service.routing.interface import (
    Action,
    Actions,
    Recall,
    RecallsMessages,
    RouterContext,
    SetTimer,
    TimerKey,
)
from broker_service.routing.medym.announcements.announcement_tree import AnnouncementTree
from broker_service.routing.medym.announcements.relay import Announcing, Relay, ServerStates
from broker_service.routing.medym.locations.coordinate_locations import CoordinateLocations
from broker_service.routing.medym.locations.round_trips import KnownLocations, RoundTripLocations
from broker_service.routing.medym.mesh import prepared_mesh
from broker_service.routing.medym.messages import (
    Bundle,
    Confirmation,
    Parting,
    Versions,
    decode_control,
)
from broker_service.routing.medym.multicast.decisions import Decisions
from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.own_status import OwnStatus
from broker_service.routing.medym.publications import Publications
from broker_service.routing.medym.subscriptions.advertised_exchange import AdvertisedExchange
from broker_service.routing.medym.subscriptions.exchange import Exchange, SubscriptionBroadcast
from broker_service.routing.medym.sums import KnownSums
from broker_service.routing.medym.timer_keys import Asking, Timer


class MedymRouter(DispatchingRouter, RecallsMessages):
    """MEDYM's router: one server of the mesh."""

    def __init__(self, context: RouterContext[MedymOptions]) -> None:
        self._context = context
        self._options = context.options
        self._mesh = prepared_mesh(context.prepared)
        self._own = self._mesh.numbers[context.broker]
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
        self._running: set[TimerKey] = set()
        self._status = OwnStatus(context, self._locations, self._decisions, self._publications.load, self._running)
        self._announcing = Announcing(
            context, self._mesh, self._relay, self._states,
            exchange=self._exchange, sent=self._sent, status=self._status, running=self._running,
        )  # fmt: skip
        self._announce_soon: Callable[[], list[Action]] = (
            self._announcing.due if self._sent is None else partial(self._announce_and_send, self._sent)
        )
        """Announces what has changed and passes on what waits, now or when the interval since the last time is over."""
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
        recalled = [Recall(neighbour)] if self._options.reroutes else []
        return [*recalled, *self._announcing.link_down(neighbour)]

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        """Neighbours exchange versions when the link works again, instead of all but publications."""
        return self._publications.returned(neighbour, messages)

    # Sums, locations and loads of servers

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        server = self._mesh.numbers[neighbour]
        self._decisions.set_reachable(server, True)
        actions: list[Action] = [*self._status.start(), *self._announcing.link_up(neighbour, incarnation)]
        if self._sent is not None:
            self._sent.begin(server, incarnation)
            actions += self._sent.repeated([server])
        return [*actions, *self._announce_soon()]

    def timer(self, key: TimerKey) -> Actions:
        self._running.discard(key)
        if isinstance(key, Asking):
            return self._announcing.ask(key.neighbour)
        if key is Timer.REPETITION and self._sent is not None:
            return [*self._sent.repeated(self._sent.unconfirmed), *self._announce_soon()]
        if key is not Timer.STATUS:
            return self._announce_soon()
        return [*self._status.look(), *self._status.start(), *self._announce_soon()]

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
                return [*self._announcing.receive(neighbour, control.announcements), *self._announce_soon()]
            case Versions():
                return self._announcing.send_lacking(neighbour, control)
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

    def _announce_and_send(self, exchange: AdvertisedExchange) -> list[Action]:
        return [*self._announcing.due(), *self._send_soon(exchange)]

    def _send_soon(self, exchange: AdvertisedExchange) -> Iterator[Action]:
        """Sends subscriptions to the servers that need them, and again to those that have not confirmed them."""
        if Timer.EXCHANGE not in self._running and (sends := exchange.due()):
            yield from sends
            yield self._awaited(Timer.EXCHANGE, self._options.pass_on_every)
        if Timer.REPETITION not in self._running and exchange.unconfirmed:
            yield self._awaited(Timer.REPETITION, self._options.repeat_after)

    def _awaited(self, timer: Timer, after: float) -> SetTimer:
        self._running.add(timer)
        return SetTimer(timer, after, awaited=True)
