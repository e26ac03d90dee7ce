"""TID-based routing: PADRES on general overlays (Li, Muthusamy, Jacobsen, section 3).

The rules:

1. An advertisement is broadcast; a broker keeps the first copy and discards the others, so that each advertisement
   builds a spanning tree, named by its tree identifier (TID).
2. The subscriber's broker matches a subscription with the advertisements, once, and binds it to the TIDs of those that
   intersect it. A bound subscription follows each tree towards its root; every broker on the path stores
   `{subscription, [(TID, last hop)]}`. Copies for several TIDs with the same next hop travel as one message.
3. The publisher's broker matches a publication with the subscriptions bound to its own trees, once. No other broker
   parses its content.
4. Fixed routing follows the publication's own tree. Dynamic routing (Algorithm 1) takes, at every broker and for every
   matching subscription, the link of least utilisation among the last hops of that subscription's own entries.

Decisions where the paper leaves something open are in `publications` and (restarts) `reconciliation`. The others:

*Withdrawals.* An unadvertisement is broadcast, and a broker obeys the copy that comes along the tree: links keep their
order, so a publication of another tree that uses this one cannot find it gone before it arrives. A copy that came over
another link counts once the link towards the root has been down for `reconcile_after` seconds: if that link comes up
again before, the messages that waited for it arrive, and the copy along the tree last.

*Restarts.* An advertisement carries the path it took, and a broker refuses one whose path leads through itself, so a
broker that lost its tables cannot be hung below its own descendants. Offers to brokers on the path are omitted only to
save messages. A neighbour that comes up with a new incarnation is sent all advertisements that do not come through it
and all subscriptions whose trees lead to it. State that is not announced again after a restart is given up, as
`reconciliation` describes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.content import encode_predicates
from broker_service.messages import BrokerId, ClientId, Kind, Message, StampedPublication
from broker_service.routing.common.bounds import MOST_TREES
from broker_service.routing.common.decoding import DispatchingRouter, encode_header, header_decoder
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.common.reconciliation import Encounter, Reconcile, Reconciliation
from broker_service.routing.interface import (
    Action,
    Actions,
    CompositeUnit,
    MalformedMessageError,
    Matcher,
    RouterContext,
    RoutesComposites,
    TimerKey,
)
from broker_service.routing.tid.bindings import Bindings, Propagation
from broker_service.routing.tid.messages import (
    Lost,
    Restarted,
    decode_subscribe,
    decode_unsubscribe,
)
from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.placement.messages import PlacementMessage
from broker_service.routing.tid.placement.setup import make_units
from broker_service.routing.tid.publications import Publications, make_forwarding
from broker_service.routing.tid.reconciliation import (
    Announcement,
    Binding,
    KnownIncarnations,
    Tree,
    announced_by,
    is_void,
)
from broker_service.routing.tid.routes import Route, TreeId, shared_route
from broker_service.routing.tid.tables import (
    AdvertisementRow,
    PublicationRoutingTable,
    SubscriptionRoutingTable,
    SubscriptionRow,
)
from broker_service.routing.tid.trees import Trees

decode_control: Callable[[bytes], Restarted | Lost | PlacementMessage] = header_decoder(
    Restarted | Lost | PlacementMessage
)


class TidRouter(DispatchingRouter, RoutesComposites):
    """TID-based routing at one broker. The module's docstring states the rules."""

    def __init__(self, context: RouterContext[TidOptions]) -> None:
        self._context = context
        self._home = Home(context.broker, context.incarnation)
        self._advertisements = SubscriptionRoutingTable()
        self._subscriptions = PublicationRoutingTable()
        self._matching: Matcher[SubscriptionRow] = context.matcher()
        """The subscriptions bound to a tree rooted here, because only publications of these trees are matched here."""
        self._propagation = Propagation(self._advertisements, self._subscriptions)
        self._bindings = Bindings(
            self._home,
            self._subscriptions,
            self._matching,
            self._propagation,
            context.report_dropped,
            rooted=self._advertisements.rooted,
        )
        self._incarnations = KnownIncarnations(self._home, context.latest_incarnation)
        self._reconciliation: Reconciliation[Announcement] = Reconciliation(
            context.links, context.options.reconcile_after
        )
        forwarding = make_forwarding(context.options, context.links)
        self._publications = Publications(context, forwarding, self._subscriptions, self._matching)
        self._units = make_units(context, self._advertisements, self._incarnations, self._bindings.intersects)
        self._exchange = self._units.exchange
        self._trees = Trees(
            self._home,
            tuple(context.links),
            self._advertisements,
            incarnations=self._incarnations,
            bindings=self._bindings,
            propagation=self._propagation,
            reconciliation=self._reconciliation,
            exchange=self._exchange,
        )
        super().__init__(
            {
                Kind.PUBLISH: self._publications.receive,
                Kind.SUBSCRIBE: self._receive_subscription,
                Kind.UNSUBSCRIBE: self._receive_unsubscription,
                Kind.ADVERTISE: self._trees.receive,
                Kind.UNADVERTISE: self._trees.receive_end,
                Kind.CONTROL: self._receive_control,
                Kind.COMPOSE: self._units.receive_unit,
                Kind.DETECTION: self._units.detections.receive,
            }
        )

    # Operations of clients

    def advertise(self, client: ClientId, id: str, advertisement: Advertisement) -> Actions:
        body = encode_predicates(advertisement.predicates)
        return self._trees.announce(AdvertisementRow(id, body, None, (), self._home, advertisement))

    def unadvertise(self, client: ClientId, id: str) -> Actions:
        return self._trees.withdraw(id, None)

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        body = encode_predicates(subscription.predicates)
        home, number = split_id(id)
        entry = SubscriptionRow(id, body, home, number, client, True, _subscription=subscription)
        self._subscriptions.add(entry)
        tids = [row.id for row in self._advertisements if self._bindings.intersects(row, subscription)]
        self._subscriptions.bind(entry, tids, None)
        self._bindings.index(entry)
        return self._propagation.forward(entry, tids, 0)

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        entry = self._subscriptions.get(id)
        if entry is None:
            return []
        return self._bindings.withdraw(entry, tuple(entry.tids), None)

    @property
    def routes_units(self) -> bool:
        return self._context.options.composites != "simple"

    def compose(self, unit: CompositeUnit) -> Actions:
        return self._units.compose(unit)

    def decompose(self, unit: str) -> Actions:
        return self._units.decompose(unit)

    def detected(self, unit: str, publications: tuple[StampedPublication, ...]) -> Actions:
        return self._units.detections.detected(unit, publications)

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        sample = self._exchange.samples.get(advertisement)
        if sample is not None:
            sample.add(publication)
        return self._publications.publish(message, publication, advertisement)

    # Messages of neighbours

    def _receive_unsubscription(self, neighbour: BrokerId, message: Message) -> Actions:
        tids = dict.fromkeys(decode_unsubscribe(message.header).tids)
        entry = self._subscriptions.get(message.id)
        return [] if entry is None else self._bindings.withdraw(entry, tids, neighbour)

    def _receive_control(self, neighbour: BrokerId, message: Message) -> Actions:
        news = decode_control(message.header)
        if isinstance(news, Restarted):
            self._incarnations.require_possible(news.broker, news.incarnation)
            forgotten, of_units = self._forget_former_incarnations(news, neighbour)
            return [*forgotten, *of_units]
        if isinstance(news, Lost):
            return self._receive_lost(neighbour, news.tid)
        return self._units.receive_control(neighbour, news)

    def _receive_lost(self, neighbour: BrokerId, tid: TreeId) -> Actions:
        """The neighbour has lost a tree, and with it the subscriptions that it has passed on along it."""
        row = self._advertisements.get(tid)
        if row is not None and row.last_hop == neighbour:
            return self._trees.give_up(row)
        actions: list[Action] = []
        for entry in self._subscriptions.bound_to(tid):
            actions += self._bindings.withdraw(entry, (tid,), neighbour)
        return actions + self._trees.offer(neighbour, row) if row is not None else actions

    def _receive_subscription(self, neighbour: BrokerId, message: Message) -> Actions:
        """Rule 2, at a broker on the path: store the routes, and follow each tree further."""
        header = decode_subscribe(message.header)
        home, number = split_id(message.id)
        if self._incarnations.is_former(home) or home == self._home:
            return []
        tids: dict[TreeId, bool] = {}
        for tid in header.tids:
            tids[sys.intern(tid)] = is_void(tid, self._advertisements, self._incarnations)
        known = self._subscriptions.get(message.id)
        entry = known or SubscriptionRow(message.id, message.body, home, number, header.client, False)
        if not self._advertisements.rooted.isdisjoint(tids):
            entry.decode()  # before anything changes, because the body may be malformed
        if len(entry.tids) + len(tids) > MOST_TREES and len(entry.tids.keys() | tids.keys()) > MOST_TREES:
            raise MalformedMessageError(f"a subscription that is bound to more than {MOST_TREES} trees")
        if known is None:
            self._subscriptions.add(entry)
        route = shared_route(neighbour, message.hops)
        news = []
        for tid, void in tids.items():
            self._reconciliation.confirm(neighbour, Binding(entry.id, tid))
            if not void and entry.routes.by_tid.get(tid) != route:
                news.append(tid)
        self._subscriptions.bind(entry, news, route)
        if not entry.tids:
            self._subscriptions.remove(entry)
        self._bindings.index(entry)
        return self._propagation.forward(entry, news, message.hops)

    # Links

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        encounter = self._reconciliation.encounter(neighbour, incarnation)
        if encounter is Encounter.SAME:
            expecting = self._reconciliation.is_expecting(neighbour)
            return [self._reconciliation.set_timer(neighbour)] if expecting else []
        actions, of_units = self._forget_former_incarnations(Restarted(neighbour, incarnation), neighbour)
        if encounter is Encounter.RESTARTED:
            actions += self._exchange.restarted(neighbour)
            of_units += self._units.renew(neighbour)
            announced = announced_by(neighbour, self._advertisements, self._subscriptions)
            self._reconciliation.expect(neighbour, announced)
            actions.append(self._reconciliation.set_timer(neighbour))
        rows = tuple(self._advertisements)
        for row in rows:
            actions += self._trees.offer(neighbour, row)
        actions += self._propagation.renew(neighbour, [row.id for row in rows if row.last_hop == neighbour])
        return actions + of_units

    def link_down(self, neighbour: BrokerId) -> Actions:
        """Nothing changes yet, because the neighbour may come back with its tables; dynamic routing sees the status."""
        return [self._reconciliation.set_timer(neighbour)] if self._trees.ending_through(neighbour) else []

    def timer(self, key: TimerKey) -> Actions:
        if not isinstance(key, Reconcile):
            return self._units.timer(key)
        neighbour = key.neighbour
        actions: list[Action] = []
        if not self._reconciliation.is_up(neighbour):
            # It can announce nothing, but trees that are known to have ended end here, too.
            for row in self._trees.ending_through(neighbour):
                actions += self._trees.give_up(row)
            return actions
        overdue = self._reconciliation.take_overdue(neighbour)
        for tree in sorted(item for item in overdue if isinstance(item, Tree)):
            known = self._advertisements.get(tree.tid)
            if known is not None and known.last_hop == neighbour:
                actions += self._trees.give_up(known)
        for binding in sorted(item for item in overdue if isinstance(item, Binding)):
            entry = self._subscriptions.get(binding.subscription)
            if entry is not None:
                actions += self._bindings.withdraw(entry, (binding.tid,), neighbour)
        return actions

    def _forget_former_incarnations(self, restarted: Restarted, source: BrokerId) -> tuple[list[Action], list[Action]]:
        """All state of a broker's earlier incarnations is void. Their trees end too, without an unadvertisement.

        Returns the actions of units apart. They end subscriptions when they are performed, and so have to come behind
        the subscriptions that are sent anew.
        """
        if not self._incarnations.learn(restarted.broker, restarted.incarnation):
            return [], []
        actions: list[Action] = []
        broker = restarted.broker
        trees = dict.fromkeys((*self._advertisements.rooted_at(broker), *self._subscriptions.trees_of(broker)))
        for tid in trees:
            if is_void(tid, self._advertisements, self._incarnations):
                self._advertisements.remove(tid)
                self._bindings.unbind_all(tid)
                actions += self._exchange.forget(tid)
        for entry in self._subscriptions.of_broker(broker):
            if self._incarnations.is_former(entry.home):
                self._subscriptions.remove(entry)
                self._bindings.index(entry)
        message = Message(Kind.CONTROL, f"{restarted.broker}.{restarted.incarnation}", b"", encode_header(restarted))
        return [*self._trees.broadcast(message, source), *actions], self._units.restarted(restarted.broker)

    def declared(self) -> Iterator[int]:
        return chain(self._advertisements.declared(), self._subscriptions.declared(), self._units.declared())

    def tables(self) -> Mapping[str, object]:
        return {
            "subscription_routing_table": {row.id: row.last_hop for row in self._advertisements},
            "publication_routing_table": {
                entry.id: [[tid, route.last_hop] for tid, route in sorted(entry.routes.by_tid.items(), key=_tid_of)]
                for entry in self._subscriptions
            },
            **({"composite_units": self._units.tables()} if len(self._units) else {}),
        }


def _tid_of(item: tuple[TreeId, Route]) -> TreeId:
    return item[0]
