"""Clients of a node: the times in their log and in their requests."""

from __future__ import annotations

from itertools import count

import pytest

from broker_service.messages import ClientEvent, ClientId, ConstituentPublication, Operation, Outcome
from broker_service.tracing.trace import Recorder
from emulation.drivers.clients import Clients, SessionEnd
from emulation.drivers.driver_operations import ready
from emulation.drivers.status import ClientCounts
from record.log import Event, PredicateRecord
from scenario.workload.operations import OperationKind, PlannedOperation
from tests.broker_service.overlay import ListTrace


class Submissions:
    """A session that notes the operations and their stamps."""

    def __init__(self) -> None:
        self.stamps: list[tuple[Operation, int]] = []

    def submit(
        self, client: ClientId, operation: Operation, id: str = "", body: bytes = b"", published: int = 0
    ) -> int:
        self.stamps.append((operation, published))
        return len(self.stamps)


@pytest.mark.parametrize("offset", [0, -300, 1_000_000])
def test_a_publication_carries_the_time_of_its_log_record_by_the_clock_of_the_run(offset: int) -> None:
    """The analysis compares stamps of the log with those by which brokers detect, to the nanosecond."""
    trace, session, ticks = ListTrace("driver"), Submissions(), count(1_000)
    clients = Clients({"B1": session}, Recorder(trace, lambda: next(ticks)), ClientCounts(), keeps_accepted=False)
    clients.clock_offset = offset
    predicates = [PredicateRecord(attribute="class", operator="eq", string="STOCK")]
    advertise = PlannedOperation(
        at=0, client="P", broker="B1", operation=OperationKind.ADVERTISE, id="a1", predicates=predicates
    )
    publish = PlannedOperation(
        at=0, client="P", broker="B1", operation=OperationKind.PUBLISH, id="P:1", attributes={"class": "STOCK"}
    )
    for operation in (advertise, publish, publish):
        clients.issue(ready(operation), intended=0)
    published = [stamp for operation, stamp in session.stamps if operation is Operation.PUBLISH]
    assert published == [record.time + offset for record in trace.of(Event.PUBLISH)]
    assert len(set(published)) == 2
    assert [stamp for operation, stamp in session.stamps if operation is not Operation.PUBLISH] == [0, 0]


def test_a_detection_is_logged_with_its_publications() -> None:
    trace, counts = ListTrace("driver"), ClientCounts()
    clients = Clients({}, Recorder(trace, lambda: 7), counts, keeps_accepted=False)
    publications = (ConstituentPublication("P:2", b"x"), ConstituentPublication("P:1", b"y"))
    clients.receiver(SessionEnd("B1"))(ClientEvent(Outcome.NOTIFIED, ("S",), id="c", publications=publications))
    (notified,) = trace.records
    assert (notified.event, notified.kind, notified.id) == (Event.NOTIFIED, "detection", "c")
    assert (notified.client, notified.peer, notified.publications) == ("S", "B1", ["P:2", "P:1"])
    assert counts.notified == 1
