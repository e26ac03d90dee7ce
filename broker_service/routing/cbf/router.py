"""Content-based forwarding on one tree (MEDYM, section 2.1, which takes Siena as its representative).

1. The servers use the links of one tree and no others (`tree`); messages of neighbours off the tree are malformed.
2. The *forwarding table* holds, for each neighbour in the tree, the sum of the subscriptions in its direction (`table`,
   `sums`). Each server tells each neighbour the sum of its own clients' and of all other neighbours' subscriptions, as
   changes, one by one or several together (`announcements`).
3. A publication is matched at every server with its clients' subscriptions and the whole forwarding table, in one
   comparison; it goes to the neighbours whose directions match, but not back to where it came from.
4. With `advertisements`, these are broadcast on the tree, and a subscription is part of the sum for a neighbour only
   while an advertisement from there intersects it.
5. A server that comes back after a failure has lost its tables. Its neighbours tell it their sums anew; whatever it
   does not tell them anew within `reconcile_after` seconds was withdrawn meanwhile, and they give it up. The paper
   compares without any recovery; there is no way round a failed server on a tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.content import encode_predicates
from broker_service.language.formatting import format_subscription
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.cbf.advertising import Advertising, Declared
from broker_service.routing.cbf.announcements import Announcements, AnnouncementTimer, Gathered, Single, ToldSums
from broker_service.routing.cbf.messages import bundled_entry, decode_changes
from broker_service.routing.cbf.options import CbfOptions
from broker_service.routing.cbf.sums import Change, CoveringSum, Entry, IdenticalSum, Sum
from broker_service.routing.cbf.table import Advertised, ForwardingTable, Found
from broker_service.routing.cbf.tree import decode_neighbours
from broker_service.routing.common.contents import content_of
from broker_service.routing.common.decoding import DispatchingRouter, decode_subscription
from broker_service.routing.common.reconciliation import Encounter, Reconcile, Reconciliation
from broker_service.routing.common.tables import AdvertisementTable
from broker_service.routing.interface import (
    Action,
    Actions,
    Deliver,
    MalformedMessageError,
    RouterContext,
    Send,
    TimerKey,
)

_SUMS = {"identical": IdenticalSum, "covering": CoveringSum}


class CbfRouter(DispatchingRouter):
    """Content-based forwarding at one broker. The module's docstring states the rules."""

    def __init__(self, context: RouterContext[CbfOptions]) -> None:
        self._context = context
        prepared = decode_neighbours(context.prepared) if context.prepared else tuple(context.links)
        self._sums: dict[BrokerId, Sum] = {neighbour: _SUMS[context.options.aggregation]() for neighbour in prepared}
        """Sums for the neighbours in the tree."""
        self._subscribed: dict[str, bytes] = {}
        """Contents of the clients' subscriptions, by identifier."""
        self._table = ForwardingTable(context.matcher())
        after = context.options.announce_after
        self._announcements: Announcements = Gathered(context.broker, after) if after else Single()
        self._advertisements: AdvertisementTable[Advertised] = AdvertisementTable()
        self._reconciliation: Reconciliation[Declared] = Reconciliation(context.links, context.options.reconcile_after)
        towards = self._advertisements if context.options.advertisements else None
        self._told = ToldSums(self._sums, self._table, self._announcements, towards)
        self._advertising = Advertising(self._advertisements, self._table, self._told, self._reconciliation)
        super().__init__(
            {
                Kind.PUBLISH: self._receive_publication,
                Kind.SUBSCRIBE: self._receive_subscription,
                Kind.UNSUBSCRIBE: self._receive_unsubscription,
                Kind.ADVERTISE: self._advertising.receive,
                Kind.UNADVERTISE: self._advertising.receive_end,
                Kind.CONTROL: self._receive_changes,
            }
        )

    # Operations of clients

    def advertise(self, client: ClientId, id: str, advertisement: Advertisement) -> Actions:
        if not self._context.options.advertisements:
            return ()
        return self._advertising.add(
            Advertised(id, advertisement, encode_predicates(advertisement.predicates), None), 0
        )

    def unadvertise(self, client: ClientId, id: str) -> Actions:
        return self._advertising.remove(id, 0)

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        body = self._subscribed[id] = content_of(subscription)
        return self._told.update(self._table.add_client(client, Entry(id, body, subscription)), 0)

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        body = self._subscribed.pop(id)
        return self._told.withdraw(body, None, 0) if self._table.remove_client(body, id) else ()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return self._forward(message, self._table.find_decoded(message.id, publication), None)

    # Messages of neighbours

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        if neighbour not in self._sums:
            raise MalformedMessageError(f"the link to {neighbour} is not in the tree")
        return super().receive(neighbour, message)

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        return self._forward(message, self._table.find(message), neighbour)

    def _receive_subscription(self, neighbour: BrokerId, message: Message) -> Actions:
        subscription = decode_subscription(message.body)
        return self._add_direction(neighbour, Entry(message.id, message.body, subscription), message.hops)

    def _receive_unsubscription(self, neighbour: BrokerId, message: Message) -> Actions:
        return self._remove_direction(neighbour, message.body, message.hops)

    def _receive_changes(self, neighbour: BrokerId, message: Message) -> Actions:
        """Takes over several changes of the neighbour's sum, or none when one of them cannot be read."""
        self._context.require_room(message.size)
        actions: list[Action] = []
        changes = [(change, bundled_entry(change.body)) for change in decode_changes(message.header)]
        for change, entry in changes:
            if change.withdrawn:
                actions += self._remove_direction(neighbour, entry.body, 0)
            else:
                actions += self._add_direction(neighbour, entry, 0)
        return actions

    # Links

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        """A neighbour whose link is up for the first time needs nothing: its messages wait in the output queue."""
        if neighbour not in self._sums:
            return ()
        match self._reconciliation.encounter(neighbour, incarnation):
            case Encounter.FIRST:
                return ()
            case Encounter.SAME:
                expecting = self._reconciliation.is_expecting(neighbour)
                return (self._reconciliation.set_timer(neighbour),) if expecting else ()
            case Encounter.RESTARTED:
                return self._update_restarted(neighbour)

    def timer(self, key: TimerKey) -> Actions:
        if isinstance(key, AnnouncementTimer):
            return self._announcements.due()
        assert isinstance(key, Reconcile)
        neighbour = key.neighbour
        if not self._reconciliation.is_up(neighbour):
            return ()  # it can announce nothing; when it comes back, it has its time again
        actions: list[Action] = []
        for declared in self._reconciliation.take_overdue(neighbour):
            if isinstance(declared.key, bytes):
                actions += self._remove_direction(neighbour, declared.key, 0)
            elif self._advertisements.last_hop(declared.key) == neighbour:
                actions += self._advertising.remove(declared.key, 0)
        return actions

    def _update_restarted(self, neighbour: BrokerId) -> Actions:
        self._reconciliation.expect(
            neighbour,
            [
                *(
                    Declared(Kind.SUBSCRIBE, entry.body)
                    for entry in self._table
                    if neighbour in self._table.directions(entry.body)
                ),
                *(Declared(Kind.ADVERTISE, row.id) for row in self._advertisements.from_neighbour(neighbour)),
            ],
        )
        rows = [row for row in self._advertisements if row.last_hop != neighbour]
        changes = [Change(Kind.SUBSCRIBE, entry) for entry in self._sums[neighbour].announced.values()]
        return [
            *(Send(neighbour, Message(Kind.ADVERTISE, row.id, row.body, hops=1)) for row in rows),
            *self._announcements.anew(neighbour, changes),
            self._reconciliation.set_timer(neighbour),
        ]

    # Publications

    def _forward(self, message: Message, found: Found, source: BrokerId | None) -> Actions:
        actions: list[Action] = [Deliver(found.clients, message)] if found.clients else []
        neighbours = [neighbour for neighbour in found.neighbours if neighbour != source]
        if neighbours:
            onward = msgspec.structs.replace(message, hops=message.hops + 1)
            actions += [Send(neighbour, onward) for neighbour in neighbours]
        return actions

    # Subscriptions

    def _add_direction(self, neighbour: BrokerId, entry: Entry, hops: int) -> Actions:
        former = self._table.directions(entry.body)
        if neighbour in former:  # told anew after a restart
            self._reconciliation.confirm(neighbour, Declared(Kind.SUBSCRIBE, entry.body))
            return ()
        added = self._table.add(entry, neighbour)
        if len(former) > 1 and not self._context.options.advertisements:
            return ()  # with the second direction it became part of the sum for every neighbour
        return self._told.update(added, hops)

    def _remove_direction(self, neighbour: BrokerId, body: bytes, hops: int) -> Actions:
        return self._told.withdraw(body, neighbour, hops) if neighbour in self._table.directions(body) else ()

    def index(self) -> None:
        self._table.index()

    def declared(self) -> Iterator[int]:
        yield from (len(entry.body) for entry in self._table)
        yield from (len(row.body) for row in self._advertisements if row.last_hop is not None)

    def tables(self) -> Mapping[str, object]:
        directions: dict[BrokerId, list[str]] = {neighbour: [] for neighbour in self._sums}
        for entry in self._table:
            for neighbour in self._table.directions(entry.body):
                if neighbour is not None:
                    directions[neighbour].append(format_subscription(entry.subscription))
        return {
            "forwarding_table": directions,
            "advertisements": {row.id: row.last_hop for row in self._advertisements},
        }
