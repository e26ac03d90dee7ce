"""Fixed and dynamic publication routing: the choice among a subscription's routes (TID paper, sections 3.2 and 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from broker_service.messages import BrokerId, Message
from broker_service.routing.common.congestion import Congestion
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import LinkStatus, Send
from broker_service.routing.tid.messages import MOST_DESTINATION_BYTES, PublishHeader
from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.routes import Arrival, NextHop, Route, Routes, TreeId
from broker_service.routing.tid.tables import Group

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
