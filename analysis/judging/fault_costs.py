"""The cost that the delivery oracle accepts for each kind of fault, as docs/guarantees.md promises.

1. *Lossy*: publications in flight may be lost. Only a broker that ends takes messages with it.
2. *Silencing*: brokers cannot reach each other until the fault is healed, so recovery from other faults waits for it.
3. Under every kind of fault, an operation in flight settles only once the fault is over.
4. A fault of unknown kind is both lossy and silencing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from analysis.reading.intervals import Intervals
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage, lasting, outages
from record.faults import FaultKind

LOSSY = frozenset({FaultKind.KILL, FaultKind.STOP})
SILENCING = LOSSY | {FaultKind.PAUSE, FaultKind.LINK_DOWN}


def lossy_intervals(faults: Iterable[OutageEvent], lingering: int, brokers: Container[str] = ()) -> Intervals:
    """The time in which publications may be lost: from each lossy fault until the overlay has recovered from it.

    Recovery takes `lingering` nanoseconds after the heal, and is not complete while another fault silences brokers:
    what they must send again waits.
    """
    found = outages(faults, brokers)
    silent = _silent(found, lingering)
    lost = (lasting(outage, lingering) for outage in found if _costs(outage, LOSSY))
    return Intervals.of((begin, silent.settled(begin, end)) for begin, end in lost)


def silent_intervals(faults: Iterable[OutageEvent], lingering: int, brokers: Container[str] = ()) -> Intervals:
    """The time in which a publication may wait in a queue without any record of it, because brokers are silenced."""
    return _silent(outages(faults, brokers), lingering)


def _silent(found: Iterable[Outage], lingering: int) -> Intervals:
    return Intervals.of(lasting(outage, lingering) for outage in found if _costs(outage, SILENCING))


def _costs(outage: Outage, kinds: frozenset[FaultKind]) -> bool:
    kind = FaultKind.named(outage.kind)
    return kind is None or kind in kinds
