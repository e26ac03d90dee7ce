"""OctopiA: routing by subscription subgrouping on a structured cyclic overlay topology, a SCOT (Shafique).

A SCOT's brokers are in clusters (copies of one tree, joined by aLinks) and in regions (complete graphs, joined by
iLinks), every broker in one of each; `neighbourhood` has the words. The rules:

1. An advertisement is known in its host region only: at the host broker and at the secondary brokers next to it, an
   advertisement tree of length 1. Each stores {advertisement, CIV, last hop} in its cluster link table (section 6).
2. A subscription is broadcast within its host cluster, which is a tree, and is known nowhere else (section 7).
3. A secondary broker notifies the host broker of an advertisement when the first subscription that intersects it
   appears in its cluster (CIV_SET), and when the last one leaves (CIV_UNSET). So CIV_a, at the host broker, always
   names the clusters that publications must be forwarded to (section 8, Algorithms 1 and 2).
4. The host broker forwards a publication into its own cluster and to those that CIV_a names; in every cluster it
   follows the subscriptions (section 9; `forwarding`, `publications`).

No message is sent to a broker twice, so there are no duplicates to detect.

Decisions where the paper leaves something open:

*Witnesses decide when a bit changes.* A secondary broker keeps with each advertisement the oldest subscription that
intersects it, the witness. A new subscription is compared only with advertisements that have none, as in Algorithm 2;
when a witness leaves, its successor is sought among the younger subscriptions, and CIV_UNSET is sent when there is
none. So an advertisement and a subscription are compared at most once, however many others come and go.

*A CIV_SET covers the advertisements that its sender knows.* Algorithm 2 sends the subscription, from which the host
broker finds all of its advertisements that intersect it. One that is still on its way to the sender must not be among
them: the sender may find when it arrives that it has no such subscription any more, and will not take back a bit that
it never set. CIV_SET therefore names the last advertisement that the sender had received. CIV_UNSET names the
advertisements, because only the sender knows which of them have lost their last subscription.

*Restarts* are beyond the paper. A broker that comes back has lost its tables, and its neighbours send it theirs: the
primary ones all subscriptions that did not come through it, the secondary ones their own advertisements with CIV_a, so
that the bit of its cluster stays as it was until the broker knows its subscriptions. Those that came through it and
that it does not announce again within `reconcile_after` seconds were withdrawn meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.content import encode_predicates
from broker_service.language.relations import intersects
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import (
    DispatchingRouter,
    decode_advertisement,
    decode_subscription,
    encode_header,
)
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.common.reconciliation import Encounter, Reconcile, Reconciliation
from broker_service.routing.interface import Actions, MalformedMessageError, RouterContext, Send, SetTimer, TimerKey
from broker_service.routing.octopia.dynamic import make_forwarding
from broker_service.routing.octopia.messages import (
    CivSetForAdvertisement,
    CivSetForSubscription,
    CivUnset,
    ControlHeader,
    decode_control,
)
from broker_service.routing.octopia.neighbourhood import Neighbourhood
from broker_service.routing.octopia.options import OctopiaOptions
from broker_service.routing.octopia.publications import Publications
from broker_service.routing.octopia.tables import (
    AdvertisementRow,
    ClusterLinkTable,
    PublicationRoutingTable,
    SubscriptionRow,
)
from broker_service.routing.octopia.vector import bit, decode_vector, encode_vector, written

_WITHIN_CLUSTERS = frozenset({Kind.SUBSCRIBE, Kind.UNSUBSCRIBE})
_WITHIN_REGIONS = frozenset({Kind.ADVERTISE, Kind.UNADVERTISE, Kind.CONTROL})
"""Kinds that travel on aLinks only, and on iLinks only. A broker refuses them from the other kind of link, because
otherwise publications could circulate for ever."""


class OctopiaRouter(DispatchingRouter):
    """OctopiA at one broker. The module's docstring states the rules."""

    def __init__(self, context: RouterContext[OctopiaOptions]) -> None:
        self._context = context
        self._options = context.options
        self._neighbourhood = Neighbourhood.read(
            context.broker,
            context.attributes,
            {neighbour: link.attributes for neighbour, link in context.links.items()},
        )
        self._own_bit = bit(self._neighbourhood.label.cluster)
        self._advertisements = ClusterLinkTable(self._own_bit)
        self._subscriptions = PublicationRoutingTable(context.matcher())
        self._reconciliation: Reconciliation[str] = Reconciliation(context.links, context.options.reconcile_after)
        """Restarted primary neighbours confirm subscriptions, by identifier."""
        self._publications = Publications(
            context,
            self._neighbourhood,
            make_forwarding(self._options, self._neighbourhood, context.links),
            self._advertisements,
            self._subscriptions,
        )
        super().__init__(
            {
                Kind.PUBLISH: self._publications.receive,
                Kind.SUBSCRIBE: self._receive_subscription,
                Kind.UNSUBSCRIBE: self._receive_unsubscription,
                Kind.ADVERTISE: self._receive_advertisement,
                Kind.UNADVERTISE: self._receive_unadvertisement,
                Kind.CONTROL: self._receive_control,
            }
        )

    # Operations of clients

    def advertise(self, client: ClientId, id: str, advertisement: Advertisement) -> Actions:
        """Algorithm 1 at the host broker."""
        row = AdvertisementRow(id, encode_predicates(advertisement.predicates), advertisement, self._own_bit, None)
        self._advertisements.add(row)
        return [_offer(neighbour, row) for neighbour in self._neighbourhood.secondary.values()]

    def unadvertise(self, client: ClientId, id: str) -> Actions:
        self._advertisements.remove(id)
        message = Message(Kind.UNADVERTISE, id, hops=1)
        return [Send(neighbour, message) for neighbour in self._neighbourhood.secondary.values()]

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        body, home = encode_predicates(subscription.predicates), split_id(id)[0]
        return self._add_subscription(SubscriptionRow(id, body, home, subscription, None, client), 0)

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        row = self._subscriptions.get(id)
        return [] if row is None else self._withdraw_subscription(row, 0)

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return self._publications.publish(message, publication, advertisement)

    # Messages of neighbours

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        elsewhere = _WITHIN_REGIONS if self._neighbourhood.is_primary(neighbour) else _WITHIN_CLUSTERS
        if message.kind in elsewhere:
            raise MalformedMessageError(
                f"{neighbour} is in another {'region' if elsewhere is _WITHIN_REGIONS else 'cluster'}"
            )
        return super().receive(neighbour, message)

    def _receive_subscription(self, neighbour: BrokerId, message: Message) -> Actions:
        known = self._subscriptions.get(message.id)
        if known is not None:  # announced again after a restart
            self._reconciliation.confirm(neighbour, message.id)
            return []
        home, subscription = split_id(message.id)[0], decode_subscription(message.body)
        row = SubscriptionRow(message.id, message.body, home, subscription, neighbour)
        return self._add_subscription(row, message.hops)

    def _receive_unsubscription(self, neighbour: BrokerId, message: Message) -> Actions:
        row = self._subscriptions.get(message.id)
        return [] if row is None or row.last_hop != neighbour else self._withdraw_subscription(row, message.hops)

    def _receive_advertisement(self, neighbour: BrokerId, message: Message) -> Actions:
        """Algorithm 1 at a secondary broker.

        Two bits of CIV_a matter here: the host cluster's and the own one, which is set already when the host broker
        knew of subscriptions in this cluster before this broker was restarted.
        """
        host_bit = bit(self._neighbourhood.labels[neighbour].cluster)
        civ = decode_vector(message.header) & self._own_bit | host_bit
        advertisement = decode_advertisement(message.body)
        row = AdvertisementRow(message.id, message.body, advertisement, civ, neighbour)
        row.witness = self._subscriptions.oldest_intersecting(advertisement)
        self._advertisements.add(row)
        if row.witness is None:
            return [self._reconciliation.set_timer(neighbour)] if self._advertisements.is_set(row) else []
        if self._advertisements.is_set(row):
            return []
        row.civ |= self._own_bit
        return [Send(neighbour, _control(message.id, CivSetForAdvertisement(message.id)))]

    def _receive_unadvertisement(self, neighbour: BrokerId, message: Message) -> Actions:
        self._advertisements.remove(message.id)
        return []

    def _receive_control(self, neighbour: BrokerId, message: Message) -> Actions:
        """CIV_SET and CIV_UNSET at the host broker of the advertisements."""
        news = decode_control(message.header)
        cluster = bit(self._neighbourhood.labels[neighbour].cluster)
        if isinstance(news, CivSetForSubscription):
            subscription = decode_subscription(message.body)
            newest = split_id(news.newest)[1]
            for row in self._advertisements.local():
                if row.number <= newest and not row.civ & cluster and intersects(row.advertisement, subscription):
                    row.civ |= cluster
            return []
        named = news.advertisements if isinstance(news, CivUnset) else (news.advertisement,)
        for id in named:
            known = self._advertisements.get(id)
            if known is not None and known.last_hop is None:
                known.civ = known.civ & ~cluster if isinstance(news, CivUnset) else known.civ | cluster
        return []

    # Links

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        """A neighbour whose link is up for the first time needs nothing: its messages wait in the output queue."""
        encounter = self._reconciliation.encounter(neighbour, incarnation)
        if encounter is Encounter.FIRST:
            return []
        if encounter is Encounter.SAME:
            unsettled = self._reconciliation.is_expecting(neighbour) or self._advertisements.unconfirmed(neighbour)
            return [self._reconciliation.set_timer(neighbour)] if unsettled else []
        if self._neighbourhood.is_primary(neighbour):
            return self._update_restarted_primary(neighbour, incarnation)
        self._advertisements.forget(neighbour)
        return [_offer(neighbour, row) for row in self._advertisements.local()]

    def timer(self, key: TimerKey) -> Actions:
        assert isinstance(key, Reconcile)
        neighbour = key.neighbour
        if not self._reconciliation.is_up(neighbour):
            return []  # it can announce nothing; when it comes back, it has its time again
        if not self._neighbourhood.is_primary(neighbour):
            return self._unset(self._advertisements.unconfirmed(neighbour))
        actions: list[Send] = []
        for id in sorted(self._reconciliation.take_overdue(neighbour)):
            row = self._subscriptions.get(id)
            if row is not None and row.last_hop == neighbour:
                actions += self._withdraw_subscription(row, 0)
        return actions

    def _update_restarted_primary(self, neighbour: BrokerId, incarnation: int) -> Actions:
        home = Home(neighbour, incarnation)
        actions: list[Send | SetTimer] = []
        passed_on = []
        for row in list(self._subscriptions):
            if row.last_hop != neighbour:
                actions.append(Send(neighbour, Message(Kind.SUBSCRIBE, row.id, row.body, hops=1)))
            elif row.home.broker == neighbour and row.home != home:
                actions += self._withdraw_subscription(row, 0)
            else:
                passed_on.append(row.id)
        self._reconciliation.expect(neighbour, passed_on)
        return [*actions, self._reconciliation.set_timer(neighbour)]

    # Subscriptions of clients and neighbours

    def _add_subscription(self, row: SubscriptionRow, hops: int) -> Actions:
        """Adds a subscription by Algorithm 2."""
        self._subscriptions.add(row)
        onward = Message(Kind.SUBSCRIBE, row.id, row.body, hops=hops + 1)
        return [
            *_broadcast(self._neighbourhood, onward, row.last_hop),
            *(Send(host, _control(row.id, news, row.body)) for host, news in self._advertisements.set_for(row)),
        ]

    def _withdraw_subscription(self, row: SubscriptionRow, hops: int) -> list[Send]:
        self._subscriptions.remove(row)
        orphaned = self._advertisements.without_witness(row, self._subscriptions)
        onward = Message(Kind.UNSUBSCRIBE, row.id, hops=hops + 1)
        return [*_broadcast(self._neighbourhood, onward, row.last_hop), *self._unset(orphaned)]

    def _unset(self, rows: Iterable[AdvertisementRow]) -> list[Send]:
        """One CIV_UNSET to each host broker of these advertisements."""
        by_host = self._advertisements.unset(rows)
        return [Send(host, _control(ids[0], CivUnset(tuple(ids)))) for host, ids in by_host.items()]

    def declared(self) -> Iterator[int]:
        for table in (self._advertisements, self._subscriptions):
            yield from (len(row.body) for row in table if row.last_hop is not None)

    def tables(self) -> Mapping[str, object]:
        clusters = self._neighbourhood.clusters
        return {
            "cluster_link_table": {
                row.id: {"civ": written(row.civ, clusters), "last_hop": row.last_hop} for row in self._advertisements
            },
            "publication_routing_table": {row.id: row.last_hop for row in self._subscriptions},
        }


def _control(id: str, news: ControlHeader, body: bytes = b"") -> Message:
    return Message(Kind.CONTROL, id, body, encode_header(news), 1)


def _offer(neighbour: BrokerId, row: AdvertisementRow) -> Send:
    return Send(neighbour, Message(Kind.ADVERTISE, row.id, row.body, encode_vector(row.civ), 1))


def _broadcast(neighbourhood: Neighbourhood, message: Message, source: BrokerId | None) -> list[Send]:
    """Sends a message within the cluster, to all primary neighbours but the one that it came from."""
    return [Send(neighbour, message) for neighbour in neighbourhood.primary.values() if neighbour != source]
