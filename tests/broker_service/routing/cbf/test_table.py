"""The forwarding table, alone and with an index that it shares with another server's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_service.language import Operator, Predicate, Publication, Subscription
from broker_service.language.content import encode_predicates
from broker_service.routing.cbf import table as table_module
from broker_service.routing.cbf.sums import Entry
from broker_service.routing.cbf.table import ForwardingTable, Found
from broker_service.routing.interface.matcher import Comparisons, Matcher
from broker_service.tracing.trace import Recorder
from tests.broker_service.overlay import ListTrace


@pytest.fixture(autouse=True)
def no_index_of_others() -> Iterator[None]:
    table_module._latest.clear()
    yield
    table_module._latest.clear()


def entry(value: int, id: str = "") -> Entry:
    predicates = (Predicate("v", Operator.EQUAL, value),)
    return Entry(id, encode_predicates(predicates), Subscription(predicates))


class Server:
    """A table and its comparisons."""

    def __init__(self) -> None:
        self.comparisons = Comparisons(int, lambda body: Publication({"class": "EVENT"}), Recorder(ListTrace("A"), int))
        self.matcher: Matcher[bytes] = Matcher(self.comparisons)
        self.table = ForwardingTable(self.matcher)

    def find(self, **attributes: int) -> Found:
        return self.table.find_decoded("p", Publication({"class": "EVENT", **attributes}))


def test_clients_and_neighbours_with_equal_subscriptions_are_found_in_one_comparison() -> None:
    server = Server()
    server.table.add(entry(1), "B")
    server.table.add_client("S", entry(1, "s"))
    server.table.add_client("T", entry(1, "t"))
    server.table.add(entry(1), "C")
    server.table.add(entry(2), "D")
    assert server.find(v=1) == Found(("S", "T"), ("B", "C"))
    ((_, matches, _),) = server.comparisons.pending
    assert matches == 4
    assert len(server.matcher) == 2


def test_a_client_counts_until_its_last_equal_subscription_is_removed() -> None:
    server = Server()
    server.table.add_client("S", entry(1, "s"))
    server.table.add_client("S", entry(1, "t"))
    assert not server.table.remove_client(entry(1).body, "s")
    assert server.find(v=1) == Found(("S",), ())
    assert server.table.remove_client(entry(1).body, "t")


def test_changes_after_a_comparison_are_found_by_the_next() -> None:
    server = Server()
    for value in range(5):
        server.table.add(entry(value), "B")
    assert server.find(v=1) == Found((), ("B",))
    server.table.remove(entry(1).body, "B")
    server.table.forget(entry(1).body)
    server.table.add(entry(7), "C")
    assert server.find(v=1) == Found((), ())
    assert server.find(v=7) == Found((), ("C",))


def test_servers_with_the_same_subscriptions_share_an_index_and_their_directions_remain_their_own() -> None:
    one, other = Server(), Server()
    for value in range(5):
        one.table.add(entry(value), "B")
        other.table.add(entry(value), "A")
    assert one.find(v=3) == Found((), ("B",))
    assert other.find(v=3) == Found((), ("A",))
    assert one.matcher.shared is other.matcher.shared is not None


def test_a_table_that_differs_a_little_from_a_shared_index_keeps_the_differences_to_itself() -> None:
    one, other = Server(), Server()
    for value in range(5):
        one.table.add(entry(value), "B")
        other.table.add(entry(value + 1), "A")
    assert one.find(v=0) == Found((), ("B",))
    assert other.find(v=0) == Found((), ())
    assert other.find(v=5) == Found((), ("A",))
    assert one.find(v=5) == Found((), ())
    assert one.matcher.shared is other.matcher.shared
    other.table.remove(entry(4).body, "A")
    other.table.forget(entry(4).body)
    assert other.find(v=4) == Found((), ())
    assert one.find(v=4) == Found((), ("B",))


def test_the_order_of_neighbours_does_not_depend_on_the_server_that_made_the_index() -> None:
    wide, narrow = (
        Entry("", encode_predicates(predicates), Subscription(predicates))
        for predicates in (
            (Predicate("v", Operator.EQUAL, 1), Predicate("w", Operator.GREATER, -1)),
            (Predicate("v", Operator.EQUAL, 1), Predicate("w", Operator.GREATER, 0)),
        )
    )
    orders = []
    for first, second in ((wide, narrow), (narrow, wide)):
        table_module._latest.clear()
        maker, server = Server(), Server()
        maker.table.add(first, "A")
        maker.table.add(second, "A")
        maker.find(v=1, w=1)
        server.table.add(narrow, "B")
        server.table.add(wide, "C")
        orders.append(server.find(v=1, w=1).neighbours)
    assert orders[0] == orders[1]
