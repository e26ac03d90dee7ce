"""Clients of a node: the times in their log and in their requests."""

from __future__ import annotations

from itertools import count

from broker_service.messages import ClientId, Operation
from broker_service.trace import Recorder
from emulation.drivers.clients import Clients
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


def test_a_publication_carries_the_time_of_its_log_record() -> None:
    """The analysis compares stamps of the log with those by which brokers detect, to the nanosecond."""
    trace, session, ticks = ListTrace("driver"), Submissions(), count(1_000)
    clients = Clients({"B1": session}, Recorder(trace, lambda: next(ticks)), ClientCounts(), keeps_accepted=False)
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
    assert published == [record.time for record in trace.of(Event.PUBLISH)]
    assert len(set(published)) == 2
    assert [stamp for operation, stamp in session.stamps if operation is not Operation.PUBLISH] == [0, 0]
