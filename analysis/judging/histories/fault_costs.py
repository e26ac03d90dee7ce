"""The cost that the delivery oracle accepts for each kind of fault, by the promises of the routing.

1. *Lossy*: publications in flight may be lost (`Loss.IN_FLIGHT`).
2. *Silencing*: brokers cannot reach each other until the fault is healed, so recovery from other faults waits for it.
3. Under every kind of fault, an operation in flight settles only once the fault is over.
4. A fault that is not survived (`Loss.EVERYTHING`) is both lossy and silencing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from analysis.reading.intervals import Intervals
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage, lasting, outages
from record.faults import FaultKind
from record.promises import Loss, Promises

SILENCING = frozenset({FaultKind.KILL, FaultKind.STOP, FaultKind.PAUSE, FaultKind.LINK_DOWN, FaultKind.RESET})
LOSSY = frozenset({Loss.IN_FLIGHT, Loss.EVERYTHING})


def silent_intervals(
    faults: Iterable[OutageEvent], promises: Promises, lingering: int, brokers: Container[str] = ()
) -> Intervals:
    """The time in which a publication may wait in a queue without any record of it, because brokers are silenced."""
    return _silent(outages(faults, brokers), promises, lingering)


def cutting_outages(faults: Iterable[OutageEvent], brokers: Container[str]) -> list[Outage]:
    """The outages that let nothing pass a broker or a link."""
    return [outage for outage in outages(faults, brokers) if outage.kind in SILENCING]


def _silent(found: Iterable[Outage], promises: Promises, lingering: int) -> Intervals:
    return Intervals.of(
        lasting(outage, lingering)
        for outage in found
        if outage.kind in SILENCING or promises.loss(outage.kind) is Loss.EVERYTHING
    )
