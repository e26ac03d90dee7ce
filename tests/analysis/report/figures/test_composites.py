"""Traffic into brokers, and the part of it that ends there."""

from __future__ import annotations

from analysis.report.figures.composites import filtered, filtered_figure
from analysis.tables.traffic import BrokerMessages


def messages(broker: str, kind: str = "publish", variant: str = "base", **counts: int) -> BrokerMessages:
    zeros = dict.fromkeys(("from_clients", "received", "sent", "delivered", "received_bytes", "sent_bytes"), 0)
    return BrokerMessages(variant=variant, broker=broker, kind=kind, **{**zeros, **counts})


ROWS = [
    messages("B1", from_clients=100, sent=80),
    messages("B2", received=80, delivered=5),
    messages("B2", "detection", delivered=20),
    messages("B2", "subscribe", received=7),
    messages("B3", received=4, sent=3, delivered=9),
]


def test_what_leaves_neither_to_a_neighbour_nor_to_a_client_ends_at_its_broker() -> None:
    """Messages of other kinds do not count; a broker with several receivers of a publication has no negative number."""
    assert filtered(ROWS) == {"B1": (100, 20), "B2": (80, 55), "B3": (4, 0)}


def test_bars_are_in_the_order_of_traffic() -> None:
    into, ended = filtered_figure(ROWS, ["base"]).data
    assert (list(into.x), list(into.y), list(ended.y)) == (["B1", "B2", "B3"], [100, 80, 4], [20, 55, 0])
    assert (into.name, ended.name) == ("base, in", "base, filtered")
