"""Messages that carry subscriptions up the trees, and their withdrawals (rule 2 of `router`).

All trees whose next hop is the same share one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.bounds import MOST_TREES_NAMED
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import Send
from broker_service.routing.tid.messages import UnsubscribeHeader, subscribe_message
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import PublicationRoutingTable, SubscriptionRoutingTable, SubscriptionRow


class Propagation:
    """Makes the messages of one broker. The router owns and maintains the tables."""

    def __init__(self, advertisements: SubscriptionRoutingTable, subscriptions: PublicationRoutingTable) -> None:
        self._advertisements = advertisements
        self._subscriptions = subscriptions

    def forward(self, entry: SubscriptionRow, tids: Iterable[TreeId], hops: int) -> list[Send]:
        """Sends a subscription one hop up each of these trees, except back to where it came from."""
        by_next_hop: dict[BrokerId, list[TreeId]] = {}
        for tid in tids:
            next_hop = None if (row := self._advertisements.get(tid)) is None else row.last_hop
            route = entry.routes.by_tid.get(tid)
            if next_hop is not None and (route is None or route.last_hop != next_hop):
                by_next_hop.setdefault(next_hop, []).append(tid)
        return [
            Send(neighbour, subscribe_message(entry, part, hops + 1))
            for neighbour, bound in by_next_hop.items()
            for part in _parts(bound)
        ]

    def renew(self, neighbour: BrokerId, tids: Iterable[TreeId]) -> list[Send]:
        """Sends every subscription that is bound to these trees, all of which lead to this neighbour."""
        together: dict[tuple[SubscriptionRow, int], list[TreeId]] = {}
        for tid in tids:
            for entry in self._subscriptions.bound_to(tid):
                route = entry.routes.by_tid.get(tid)
                if route is None or route.last_hop != neighbour:
                    together.setdefault((entry, route.distance if route else 0), []).append(tid)
        return [
            Send(neighbour, subscribe_message(entry, part, distance + 1))
            for (entry, distance), bound in together.items()
            for part in _parts(bound)
        ]

    def withdraw(self, entry: SubscriptionRow, tids: Iterable[TreeId], source: BrokerId | None) -> list[Send]:
        """Sends a withdrawal one hop up each of these trees, except back to `source`."""
        by_next_hop: dict[BrokerId, list[TreeId]] = {}
        for tid in tids:
            next_hop = None if (row := self._advertisements.get(tid)) is None else row.last_hop
            if next_hop is not None and next_hop != source:
                by_next_hop.setdefault(next_hop, []).append(tid)
        return [
            Send(next_hop, Message(Kind.UNSUBSCRIBE, entry.id, b"", encode_header(UnsubscribeHeader(part))))
            for next_hop, bound in by_next_hop.items()
            for part in _parts(bound)
        ]


def _parts(tids: list[TreeId]) -> Sequence[tuple[TreeId, ...]]:
    """Trees in groups that fit into a header."""
    if len(tids) <= MOST_TREES_NAMED:
        return (tuple(tids),)
    return [tuple(tids[begin : begin + MOST_TREES_NAMED]) for begin in range(0, len(tids), MOST_TREES_NAMED)]
