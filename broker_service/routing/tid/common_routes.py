"""Routes that several subscriptions of one client have in common, which a publication that matches them all takes.

A publication would be lost on a route to only some of them if those were withdrawn while it travels. Finding what they
have in common takes as many look-ups as there are routes and subscriptions, multiplied. A neighbour decides on both, so
the look-ups of one publication are bounded. Beyond `MOST_LOOKUPS` a client's publication takes the routes to one of its
subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from broker_service.routing.tid.routes import NO_ROUTES, Routes, TreeId
from broker_service.routing.tid.tables import SubscriptionRow

MOST_LOOKUPS = 1 << 16
"""Look-ups for one publication at one broker: 300 clients, each with two subscriptions to a hundred trees."""

_LOOKUPS_BESIDES = 64
"""Look-ups that a client counts for besides, because routes that are found have to be chosen among."""


class CommonRoutes:
    """Finds the routes of one publication at one broker."""

    def __init__(self, tid: TreeId) -> None:
        """`tid` is the tree that the publication travels on."""
        self._tid = tid
        self._lookups = 0
        self._found: dict[frozenset[Routes], Routes] = {}

    def to(self, entries: Sequence[SubscriptionRow]) -> Routes:
        """The routes to subscriptions of one client; `NO_ROUTES` without any.

        They lead to all of these subscriptions that are bound to the publication's tree (to all of these when none is,
        because it follows another tree).
        """
        if not entries:
            return NO_ROUTES
        first = entries[0].routes
        if len(entries) == 1:
            return first
        distinct = {entry.routes: None for entry in entries}
        if len(distinct) == 1:
            return first
        if self._lookups >= MOST_LOOKUPS:
            return self._bound(distinct)[0]
        key = frozenset(distinct)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._common(self._bound(distinct)) or first
        return found

    def _bound(self, distinct: Iterable[Routes]) -> list[Routes]:
        """Routes that are bound to the publication's tree; all routes when none is."""
        return [routes for routes in distinct if self._tid in routes.by_tid] or list(distinct)

    def _common(self, bound: Sequence[Routes]) -> Routes | None:
        """The routes that all of these have in common; None without any."""
        fewest = min(bound, key=_number_of)
        others = [routes.by_tid for routes in bound if routes is not fewest]
        lookups = len(fewest.by_tid) * len(others)
        self._lookups += _LOOKUPS_BESIDES
        if self._lookups + lookups > MOST_LOOKUPS:
            return bound[0]
        self._lookups += lookups
        common = {tid: route for tid, route in fewest.by_tid.items() if all(tid in other for other in others)}
        if not common:
            return None
        return fewest if len(common) == len(fewest.by_tid) else Routes(common)


def _number_of(routes: Routes) -> int:
    return len(routes.by_tid)
