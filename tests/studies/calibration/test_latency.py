"""Intervals along the way of a publication, by hand."""

from __future__ import annotations

from record.log import Event, TraceRecord
from studies.calibration.latency import intervals

MILLISECOND = 1_000_000
DELAYS = {("B1", "B2"): 0.005, ("B2", "B3"): 0.010}


def record(time: float, node: str, event: Event, id: str = "p1", **fields: object) -> TraceRecord:
    kind = None if event in (Event.PUBLISH, Event.NOTIFIED) else "publish"
    return TraceRecord(
        time=round(time * MILLISECOND), node=node, variant="base", event=event, kind=kind, id=id, **fields  # type: ignore[arg-type]
    )  # fmt: skip


WHOLE_WAY = [
    record(100.2, "publishers", Event.PUBLISH, peer="B1", intended=100 * MILLISECOND),
    record(100.8, "B1", Event.RECEIVED),
    record(101.0, "B1", Event.SENT, peer="B2"),
    record(106.5, "B2", Event.RECEIVED, peer="B1"),
    record(106.7, "B2", Event.SENT, peer="B3"),
    record(117.0, "B3", Event.RECEIVED, peer="B2"),
    record(117.1, "B3", Event.DELIVERED, client="S1"),
    record(117.6, "subscribers", Event.NOTIFIED, client="S1"),
]


def test_intervals_end_where_the_next_begin() -> None:
    found = intervals(WHOLE_WAY, DELAYS)
    assert [time / MILLISECOND for time in found.submit] == [1.0]
    assert [round(time / MILLISECOND, 6) for time in found.link] == [0.7, 0.4]
    assert [time / MILLISECOND for time in found.notify] == [0.5]
    assert [time / MILLISECOND for time in found.whole] == [17.6]
    parts = sum(found.submit) + sum(found.link) + sum(found.notify) + sum(DELAYS.values()) * 1e9
    assert round(parts) == found.whole[0]


def test_intervals_without_their_end_are_left_out() -> None:
    assert not intervals(WHOLE_WAY[:-1], DELAYS).notify
    never_passed_on = intervals(WHOLE_WAY[:5], DELAYS)
    assert (len(never_passed_on.submit), len(never_passed_on.link), len(never_passed_on.notify)) == (1, 1, 0)


def test_each_branch_of_the_way_is_an_interval() -> None:
    branch = [
        record(101.05, "B1", Event.SENT, peer="B4"),
        record(103.0, "B4", Event.DELIVERED, client="S2"),
        record(103.4, "subscribers", Event.NOTIFIED, client="S2"),
    ]
    found = intervals([*WHOLE_WAY, *branch], DELAYS | {("B1", "B4"): 0.001})
    assert [round(time / MILLISECOND, 6) for time in found.link] == [0.7, 0.4, 0.95]
    assert [round(time / MILLISECOND, 6) for time in found.notify] == [0.5, 0.4]
    assert [time / MILLISECOND for time in found.submit] == [1.0]


def test_other_messages_do_not_matter() -> None:
    control = record(106.0, "B2", Event.SENT, peer="B3")
    control.kind = "subscribe"
    assert intervals([*WHOLE_WAY, control], DELAYS) == intervals(WHOLE_WAY, DELAYS)
