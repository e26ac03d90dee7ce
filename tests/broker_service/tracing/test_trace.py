from __future__ import annotations

import itertools

from broker_service.tracing.trace import Recorder
from record.log import Event
from tests.broker_service.overlay import ListTrace


def test_notifications_are_one_record_a_client_of_one_time() -> None:
    trace, times = ListTrace("B1"), itertools.count(7)
    recorder = Recorder(trace, lambda: next(times))
    recorder.notifications(Event.NOTIFIED, ("S1", "S2"), id="P1:1", hops=3, bytes=200, peer="B2")
    recorder.notifications(Event.DELIVERED, ("S3",), id="P1:2", hops=0, bytes=100)
    recorder.notifications(Event.DELIVERED, (), id="P1:3", hops=0, bytes=100)
    assert [
        (record.time, record.event, record.client, record.id, record.hops, record.bytes, record.peer)
        for record in trace.records
    ] == [
        (7, Event.NOTIFIED, "S1", "P1:1", 3, 200, "B2"),
        (7, Event.NOTIFIED, "S2", "P1:1", 3, 200, "B2"),
        (8, Event.DELIVERED, "S3", "P1:2", 0, 100, None),
    ]
    assert {(record.node, record.variant, record.kind) for record in trace.records} == {("B1", "base", "publish")}
