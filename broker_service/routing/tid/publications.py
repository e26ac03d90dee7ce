"""Publications in TID-based routing: they are matched once, carry the result with them, and are forwarded along fixed
or dynamically chosen routes (TID paper, sections 3.2 and 3.3).

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

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Protocol

from broker_service.language import Publication
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.common.congestion import Congestion
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import Action, Actions, Deliver, LinkStatus, Matcher, RouterContext, Send
from broker_service.routing.tid.common_routes import CommonRoutes
from broker_service.routing.tid.messages import MOST_DESTINATION_BYTES, PublishHeader, decode_publish
from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.routes import Arrival, NextHop, Route, Routes, TreeId
from broker_service.routing.tid.tables import Group, PublicationRoutingTable, SubscriptionRow

_number_of = attrgetter("number")

BUSIEST = 1 << 30
"""Load level of a link that is down."""


class Forwarding(Protocol):
    """A rule that chooses a next hop among the routes to a subscriber."""

    def longest(self, routes: Routes, tid: TreeId) -> int:
        """Hops of the longest route a publication of tree `tid` may take; 0 when it cannot reach the subscriber."""

    def choose(self, routes: Routes, arrival: Arrival) -> NextHop | None:
        """The next hop towards the subscriber; None when no route can be taken."""


class FixedForwarding:
    """A publication stays on the tree of the advertisement it conforms to."""

    def longest(self, routes: Routes, tid: TreeId) -> int:
        route = routes.by_tid.get(tid)
        return route.distance if route is not None else 0

    def choose(self, routes: Routes, arrival: Arrival) -> NextHop | None:
        route = routes.by_tid.get(arrival.tid)
        if route is None or arrival.budget <= 0:
            return None
        return NextHop(route.last_hop, arrival.tid)


class LoadLevels(Protocol):
    """Load of the link to a neighbour, in steps: links of one level count as equally loaded, level 0 as not loaded."""

    def __call__(self, neighbour: BrokerId) -> int: ...


class UtilisationLevels:
    """The paper's measure, section 3.3, in steps of `margin`."""

    def __init__(self, link_status: Mapping[BrokerId, LinkStatus], margin: float) -> None:
        self._link_status = link_status
        self._margin = margin

    def __call__(self, neighbour: BrokerId) -> int:
        status = self._link_status[neighbour]
        return int((status.utilisation - 1.0) / self._margin) if status.up else BUSIEST


class CongestionLevels:
    """Eq. 3 of OctopiA, the measure by which that paper makes TID routing dynamic.

    A publication stays on its tree until the link there is congested. Levels of congested links grow by powers of two,
    so that a difference of a few messages does not decide between two links.
    """

    def __init__(self, link_status: Mapping[BrokerId, LinkStatus], congestion: Congestion) -> None:
        self._link_status = link_status
        self._congestion = congestion

    def __call__(self, neighbour: BrokerId) -> int:
        if not self._link_status[neighbour].up:
            return BUSIEST
        if not self._congestion.is_overloaded(neighbour):
            return 0
        return max(1, int(self._congestion.level(neighbour)).bit_length())


class DynamicForwarding:
    """Algorithm 1: the route whose first link is least loaded, among those within the hop budget."""

    def __init__(self, level: LoadLevels) -> None:
        self._load_level = level
        self._arrival: Arrival | None = None
        """The publication that was chosen for last."""
        self._levels: dict[BrokerId, int] = {}
        """Load of the links that were looked at for it, which are many times the same ones."""

    def longest(self, routes: Routes, tid: TreeId) -> int:
        return routes.longest

    def choose(self, routes: Routes, arrival: Arrival) -> NextHop | None:
        if arrival.budget <= 0:
            return None
        if arrival is not self._arrival:
            self._arrival, self._levels = arrival, {}
        own = routes.by_tid.get(arrival.tid)
        if own is not None and self._fits(own, arrival) and not self._level(own.last_hop):
            return NextHop(own.last_hop, arrival.tid)  # no route ranks before its own tree over an idle link
        best: tuple[int, bool, int, TreeId, BrokerId] | None = None
        if own is not None and self._fits(own, arrival):
            best = (self._level(own.last_hop), False, own.distance, arrival.tid, own.last_hop)
        for neighbour, (distance, tid) in routes.shortest.items():
            # of the routes over one link, none ranks before the shortest but that of the own tree
            if neighbour == arrival.source or distance > arrival.budget:
                continue
            rank = (self._level(neighbour), True, distance, tid, neighbour)
            if best is None or rank < best:
                best = rank
        if best is None:
            return self._shortest(routes)
        return NextHop(best[4], best[3])

    def _level(self, neighbour: BrokerId) -> int:
        level = self._levels.get(neighbour)
        if level is None:
            level = self._levels[neighbour] = self._load_level(neighbour)
        return level

    def _fits(self, route: Route, arrival: Arrival) -> bool:
        return route.distance <= arrival.budget and route.last_hop != arrival.source

    def _shortest(self, routes: Routes) -> NextHop | None:
        """The shortest route, in the rare case that the tables changed meanwhile and no route fits the budget."""
        if not routes.by_tid:
            return None
        (_, tid), neighbour = min((route, neighbour) for neighbour, route in routes.shortest.items())
        return NextHop(neighbour, tid)


def make_forwarding(options: TidOptions, link_status: Mapping[BrokerId, LinkStatus]) -> Forwarding:
    """The forwarding that the options select."""
    if options.publications == "fixed":
        return FixedForwarding()
    if options.load == "utilisation":
        return DynamicForwarding(UtilisationLevels(link_status, options.utilisation_margin))
    congestion = Congestion(link_status, options.congestion_threshold, options.status_interval)
    return DynamicForwarding(CongestionLevels(link_status, congestion))


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


class Copies:
    """Copies of one publication that leave a broker: one for each next hop, naming the subscribers behind it."""

    def __init__(self, forwarding: Forwarding, arrival: Arrival) -> None:
        self._forwarding = forwarding
        self._arrival = arrival
        self._copies: dict[BrokerId, PublishHeader] = {}
        self._chosen: dict[Routes, dict[str, list[Group]] | None] = {}
        """Destinations of the copy that takes the choice, for routes that were chosen among before; None where no route
        can be taken."""

    def add(self, routes: Routes, home: str, group: Group) -> bool:
        """Adds a group of subscriptions of one home to the copy that takes their best route.

        Returns False when no route can be taken.
        """
        destinations = self._chosen.get(routes)
        if destinations is None:
            if routes in self._chosen:
                return False
            choice = self._forwarding.choose(routes, self._arrival)
            if choice is None:
                self._chosen[routes] = None
                return False
            copy = self._copies.get(choice.neighbour)
            if copy is None:
                copy = self._copies[choice.neighbour] = PublishHeader(choice.tid, self._arrival.budget - 1, {})
            destinations = self._chosen[routes] = copy.destinations
        groups = destinations.get(home)
        if groups is None:
            destinations[home] = [group]
        else:
            groups.append(group)
        return True

    def sends(self, message: Message) -> list[Send]:
        hops, published = message.hops + 1, message.published
        sends: list[Send] = []
        for neighbour, header in self._copies.items():
            whole = encode_header(header)
            for encoded in (whole,) if len(whole) <= MOST_DESTINATION_BYTES else encoded_parts(header):
                copy = Message(message.kind, message.id, message.body, encoded, hops, "", published)
                sends.append(Send(neighbour, copy))
        return sends


def encoded_parts(header: PublishHeader) -> list[bytes]:
    """The header of a publication, in several ones where one would be too long.

    A group stays whole, so that its client is notified once. Of one that is too long by itself, the first half
    represents the client.
    """
    encoded = encode_header(header)
    if len(encoded) <= MOST_DESTINATION_BYTES:
        return [encoded]
    groups = [(home, group) for home, groups in header.destinations.items() for group in groups]
    middle = len(groups) // 2
    if not middle:
        home, group = groups[0]
        return encoded_parts(_to_groups(header, [(home, group[: len(group) // 2])]))
    return encoded_parts(_to_groups(header, groups[:middle])) + encoded_parts(_to_groups(header, groups[middle:]))


def _to_groups(header: PublishHeader, groups: Iterable[tuple[str, Group]]) -> PublishHeader:
    destinations: dict[str, list[Group]] = {}
    for home, group in groups:
        destinations.setdefault(home, []).append(group)
    return PublishHeader(header.tid, header.budget, destinations)
