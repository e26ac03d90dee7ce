"""Intervals along a line of brokers, by hand."""

from __future__ import annotations

from broker_service.trace import Event, TraceRecord
from emulation.calibration.latency import intervals

MILLISECOND = 1_000_000
LINE = ["B1", "B2", "B3"]
DELAYS = {("B1", "B2"): 0.005, ("B2", "B3"): 0.010}


def record(time: float, node: str, event: Event, id: str = "p1", **fields: object) -> TraceRecord:
    kind = None if event in (Event.PUBLISH, Event.NOTIFIED) else "publish"
    return TraceRecord(
        time=round(time * MILLISECOND), node=node, variant="base", event=event, kind=kind, id=id, **fields  # type: ignore[arg-type]
    )  # fmt: skip


WHOLE_WAY = [
    record(100.2, "publishers", Event.PUBLISH, intended=100 * MILLISECOND),
    record(100.8, "B1", Event.RECEIVED),
    record(101.0, "B1", Event.SENT, peer="B2"),
    record(106.5, "B2", Event.RECEIVED, peer="B1"),
    record(106.7, "B2", Event.SENT, peer="B3"),
    record(117.0, "B3", Event.RECEIVED, peer="B2"),
    record(117.1, "B3", Event.DELIVERED),
    record(117.6, "subscribers", Event.NOTIFIED, client="S1"),
]


def test_intervals_end_where_the_next_begin() -> None:
    found = intervals(WHOLE_WAY, LINE, DELAYS)
    assert [time / MILLISECOND for time in found.submit] == [1.0]
    assert [round(time / MILLISECOND, 6) for time in found.link] == [0.7, 0.4]
    assert [time / MILLISECOND for time in found.notify] == [0.5]
    assert [time / MILLISECOND for time in found.whole] == [17.6]
    parts = sum(found.submit) + sum(found.link) + sum(found.notify) + sum(DELAYS.values()) * 1e9
    assert round(parts) == found.whole[0]


def test_what_did_not_go_the_whole_way_is_left_out() -> None:
    for missing in (0, 2, 4, 6, 7):
        records = [record for index, record in enumerate(WHOLE_WAY) if index != missing]
        assert not intervals(records, LINE, DELAYS).whole


def test_other_messages_do_not_matter() -> None:
    control = record(106.0, "B2", Event.SENT, peer="B3")
    control.kind = "subscribe"
    assert intervals([*WHOLE_WAY, control], LINE, DELAYS) == intervals(WHOLE_WAY, LINE, DELAYS)
