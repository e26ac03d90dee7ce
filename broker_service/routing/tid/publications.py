"""Publications in TID-based routing: they are matched once, and carry the result with them.

Decisions where the paper (see `tid`) leaves something open:

*The match travels.* Following the TID alone would carry a publication to every subscriber of its tree, matching or not,
and TIDs exist to avoid matching again at each broker. So the result of the one match travels: the identifiers of the
matching subscriptions, grouped by home broker and client. A broker splits the list by next hop (each copy names only
subscribers behind that link), as Algorithm 1's loop over S requires anyway. An identifier costs one to three bytes
beside its home's name, and 200 of them about half a kilobyte; all subscriptions with the same routes share one `Routes`
object, so the choice is made once for each of those objects.
The alternatives were worse: a bit vector over all subscriptions needs a numbering that the whole overlay agrees on;
naming only the home brokers loses which subscription's entries dynamic routing may use (Property 2) and makes the last
broker match again.

*One notification for each client.* A client's matching subscriptions stay together as one group and take one route, so
they cannot arrive as two copies by two paths. The route leads to all of them, so that none is lost when another is
withdrawn meanwhile.

*Hop budget.* Algorithm 1 alone can pass a publication back and forth between two trees that cross in opposite
directions. Every entry therefore keeps the distance to the subscriber along its tree, and a publication has a hop
budget: the length of the longest of its routes at the publisher's broker, less one with each hop. Only entries within
the budget count as alternatives. The tree that was taken last always stays within it, so there is a choice at every
broker and the journey ends.

*Ties.* When links are equally loaded (within `utilisation_margin`), the publication stays on its tree: the broadcast
that built it was a race, so in a quiet overlay it is the fastest route. Shorter routes come next, then smaller TIDs.
"""

from __future__ import annotations

from operator import attrgetter

from broker_service.language import Publication
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import Action, Actions, Deliver, Matcher, RouterContext
from broker_service.routing.tid.common_routes import CommonRoutes
from broker_service.routing.tid.forwarding import Copies, Forwarding
from broker_service.routing.tid.messages import decode_publish
from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.routes import Arrival, Routes
from broker_service.routing.tid.tables import PublicationRoutingTable, SubscriptionRow

_number_of = attrgetter("number")


class Publications:
    """Handles publications at one broker. The router owns and maintains the tables and the index."""

    def __init__(
        self,
        context: RouterContext[TidOptions],
        forwarding: Forwarding,
        subscriptions: PublicationRoutingTable,
        matching: Matcher[SubscriptionRow],
    ) -> None:
        self._report_dropped = context.report_dropped
        self._home_name = str(Home(context.broker, context.incarnation))
        self._forwarding = forwarding
        self._subscriptions = subscriptions
        self._matching = matching

    def publish(self, message: Message, publication: Publication, advertisement: str) -> Actions:
        """Rule 3: the one match, and the first hop, for which subscriptions are grouped by client."""
        clients: dict[ClientId, None] = {}
        longest: dict[Routes, int] = {}
        groups: dict[tuple[str, ClientId], list[SubscriptionRow]] = {}
        for entry in self._matching.match_decoded(message.id, publication):
            if entry.local:
                clients[entry.client] = None
                continue
            routes = entry.routes
            if routes not in longest:
                longest[routes] = self._forwarding.longest(routes, advertisement)
            if longest[routes]:
                groups.setdefault((entry.home_name, entry.client), []).append(entry)
        actions: list[Action] = [Deliver(tuple(clients), message)] if clients else []
        if groups:
            copies = Copies(self._forwarding, Arrival(advertisement, max(longest.values()), None))
            common: CommonRoutes | None = None
            for (home, _client), entries in groups.items():
                routes = entries[0].routes
                if len(entries) > 1:
                    common = common or CommonRoutes(advertisement)
                    routes = common.to(entries)
                copies.add(routes, home, tuple(map(_number_of, entries)))
            actions += copies.sends(message)
        return actions

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        """Rule 4, at a broker on the path: deliver to the clients here, and split the rest by next hop."""
        header = decode_publish(message.header)
        destinations = header.destinations
        actions: list[Action] = []
        here = destinations.pop(self._home_name, None)
        if here:
            own = self._subscriptions.by_home.get(self._home_name, {})  # without those withdrawn in the meantime
            clients: dict[ClientId, None] = {}
            for group in here:
                for number in group:
                    if number in own:
                        clients[own[number].client] = None
            actions.append(Deliver(tuple(clients), message))
        if destinations:
            copies = Copies(self._forwarding, Arrival(header.tid, header.budget, neighbour))
            common: CommonRoutes | None = None
            for home, groups in destinations.items():
                known = self._subscriptions.by_home.get(home, {})
                missed = 0
                for group in groups:
                    entries = [known[number] for number in group if number in known]
                    if len(entries) == 1:
                        routes = entries[0].routes
                    else:
                        common = common or CommonRoutes(header.tid)
                        routes = common.to(entries)
                    missed += not copies.add(routes, home, group)
                if missed:
                    self._report_dropped(message, f"no route to {missed} subscribers at {home}")
            actions += copies.sends(message)
        return actions
