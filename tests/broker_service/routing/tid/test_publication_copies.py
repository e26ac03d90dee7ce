"""Copies of a publication: the choice among routes is made once for all subscribers who share them."""

from __future__ import annotations

import pytest

from broker_service.messages import Kind, Message
from broker_service.routing.common.decoding import header_decoder
from broker_service.routing.tid.messages import PublishHeader
from broker_service.routing.tid.publications import Copies
from broker_service.routing.tid.routes import NO_ROUTES, Arrival, NextHop, Route, Routes

ARRIVAL = Arrival(tid="A1", budget=3, source=None)


class Counting:
    """A rule that takes the only route, and counts the choices."""

    def __init__(self) -> None:
        self.choices = 0

    def longest(self, routes: Routes, tid: str) -> int:
        return routes.longest

    def choose(self, routes: Routes, arrival: Arrival) -> NextHop | None:
        self.choices += 1
        return next((NextHop(route.last_hop, tid) for tid, route in routes.by_tid.items()), None)


@pytest.mark.parametrize("routes", [Routes({"A1": Route("B2", 1)}), NO_ROUTES])
def test_a_choice_is_made_once_whether_or_not_there_is_a_route(routes: Routes) -> None:
    rule = Counting()
    copies = Copies(rule, ARRIVAL)
    there = bool(routes.by_tid)
    added = [copies.add(routes, home, group) for home, group in (("B7", (1,)), ("B7", (2,)), ("B8", (3,)))]
    assert (added, rule.choices) == ([there] * 3, 1)
    decode = header_decoder(PublishHeader)
    headers = [decode(send.message.header) for send in copies.sends(Message(Kind.PUBLISH, "P:1"))]
    assert [header.destinations for header in headers] == ([{"B7": [(1,), (2,)], "B8": [(3,)]}] if there else [])
