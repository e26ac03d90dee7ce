"""The figure of messages shows the numbers of its table."""

from __future__ import annotations

from analysis.report.figures.broker_messages import broker_messages_figure
from analysis.tables.traffic import BrokerMessages


def handled(broker: str, kind: str, from_clients: int, received: int, variant: str = "fixed") -> BrokerMessages:
    return BrokerMessages(
        variant=variant,
        broker=broker,
        kind=kind,
        from_clients=from_clients,
        received=received,
        sent=0,
        delivered=0,
        received_bytes=0,
        sent_bytes=0,
    )


def test_brokers_are_sorted_by_load_and_hover_texts_name_kinds() -> None:
    rows = [handled("B1", "publish", 1, 0), handled("B2", "publish", 0, 5), handled("B2", "advertise", 0, 2)]
    (bars,) = broker_messages_figure(rows, ["fixed"]).data
    assert (list(bars.x), list(bars.y)) == (["B2", "B1"], [7, 1])
    assert bars.customdata[0] == "publish: 5<br>advertise: 2"
