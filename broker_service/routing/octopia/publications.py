"""Publications in OctopiA: every broker on the path matches them with the subscriptions of its cluster.

The host broker and all others do the same, from two sources: at the host broker, CIV_a of the advertisement that the
publication conforms to names the clusters it must reach; elsewhere the header does, CIV_p, which is empty unless the
publication is routed dynamically. A subscription that matches a publication of an advertisement intersects that
advertisement, so the CIV_a of one advertisement is enough, even when the publication conforms to others as well.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from broker_service.language import Publication
from broker_service.messages import BrokerId, Message
from broker_service.routing.interface import Action, Actions, Deliver, RouterContext, Send
from broker_service.routing.octopia.detours import Relay
from broker_service.routing.octopia.forwarding import Copy, Forwarding, Onward
from broker_service.routing.octopia.messages import OwnClientsOnly, RelayHeader, Remaining, decode_publication_header
from broker_service.routing.octopia.neighbourhood import Neighbourhood
from broker_service.routing.octopia.options import OctopiaOptions
from broker_service.routing.octopia.tables import ClusterLinkTable, PublicationRoutingTable, SubscriptionRow
from broker_service.routing.octopia.vector import (
    ClusterIndexVector,
    bit,
    clusters_of,
    decode_vector,
)

_last_hop: Callable[[SubscriptionRow], BrokerId | None] = attrgetter("last_hop")


class Publications:
    """Handles publications at one broker. The router owns and maintains the tables."""

    def __init__(
        self,
        context: RouterContext[OctopiaOptions],
        neighbourhood: Neighbourhood,
        forwarding: Forwarding,
        advertisements: ClusterLinkTable,
        subscriptions: PublicationRoutingTable,
    ) -> None:
        self._report_dropped = context.report_dropped
        self._forwarding = forwarding
        self._advertisements = advertisements
        self._subscriptions = subscriptions
        self._relay = Relay(neighbourhood, context.links)
        self._own_bit = bit(neighbourhood.label.cluster)
        self._clusters = neighbourhood.clusters

    def publish(self, message: Message, publication: Publication, advertisement: str) -> Actions:
        """Routes a publication of a client of this broker, which is its host broker."""
        row = self._advertisements.get(advertisement)
        matches = self._subscriptions.matcher.match_decoded(message.id, publication)
        return self._route(message, matches, row.civ if row is not None else 0, None)

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        civ, source = 0, neighbour
        if message.header:
            header = decode_publication_header(message.header)
            if isinstance(header, Remaining):
                civ = decode_vector(header.civ, self._clusters)
            elif isinstance(header, OwnClientsOnly):
                return _deliveries(message, self._subscriptions.matcher.match(message))
            else:
                origin = self._relay.arrived_from(header)
                if origin is None:
                    return self._pass_on(message, header)
                source = origin
        return self._route(message, self._subscriptions.matcher.match(message), civ, source)

    def _pass_on(self, message: Message, header: RelayHeader) -> Actions:
        copies = self._relay.pass_on(header)
        if not copies:
            self._report_dropped(message, "the overlay has no link that leads further")
        return _sends(message, copies)

    def _route(
        self, message: Message, matches: list[SubscriptionRow], civ: ClusterIndexVector, source: BrokerId | None
    ) -> Actions:
        """Delivers a publication to its subscribers here, and forwards it to those behind other brokers."""
        hops = set(map(_last_hop, matches))
        actions = _deliveries(message, matches) if None in hops else []
        # Sorted, because a set has no order that a run could repeat.
        a_links = sorted([hop for hop in hops if hop is not None and hop != source])
        route = self._forwarding.route(Onward(tuple(a_links), civ & ~self._own_bit, source))
        if route.unreachable:
            listed = ", ".join(map(str, clusters_of(route.unreachable)))
            self._report_dropped(message, f"no link towards cluster {listed}")
        return actions + _sends(message, route.copies)


def _deliveries(message: Message, matches: list[SubscriptionRow]) -> list[Action]:
    """Deliveries to this broker's own clients, each once."""
    clients = dict.fromkeys([row.client for row in matches if row.last_hop is None])
    return [Deliver(tuple(clients), message)] if clients else []


def _sends(message: Message, copies: list[Copy]) -> list[Action]:
    """Sends copies, of which those with equal headers share one message."""
    by_header: dict[bytes, Message] = {}
    actions: list[Action] = []
    for copy in copies:
        header = copy.header
        onward = by_header.get(header)
        if onward is None:
            hops = message.hops + 1
            onward = Message(message.kind, message.id, message.body, header, hops, "", message.published)
            by_header[header] = onward
        actions.append(Send(copy.neighbour, onward))
    return actions
