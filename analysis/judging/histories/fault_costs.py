"""The cost that the delivery oracle accepts for each kind of fault, by the promises of the routing.

1. *Lossy*: publications in flight may be lost (`Loss.IN_FLIGHT`).
2. *Silencing*: brokers cannot reach each other until the fault is healed, so recovery from other faults waits for it.
3. Under every kind of fault, an operation in flight settles only once the fault is over.
4. A fault that is not survived (`Loss.EVERYTHING`) is both lossy and silencing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping

from analysis.reading.intervals import Intervals
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage, lasting, outages
from record.faults import FaultKind
from record.promises import Loss, Promises

SILENCING = frozenset({FaultKind.KILL, FaultKind.STOP, FaultKind.PAUSE, FaultKind.LINK_DOWN, FaultKind.RESET})
LOSSY = frozenset({Loss.IN_FLIGHT, Loss.EVERYTHING})


def crash_intervals(
    faults: Iterable[OutageEvent], promises: Promises, lingering: int, brokers: Collection[str]
) -> Mapping[str, Intervals]:
    """By broker: the time from each lossy fault of its own until the overlay has recovered from it. Such a fault costs
    what the broker stores and nothing that others do.

    Recovery takes `lingering` nanoseconds after the heal, and is not complete while another fault silences brokers:
    what they must send again waits.
    """
    found = outages(faults, brokers)
    silent, by_broker = _silent(found, promises, lingering), defaultdict[str, list[Outage]](list)
    for outage in found:
        if _ends_a_broker(outage, promises, brokers):
            by_broker[outage.target].append(outage)
    return {broker: _recovered(ended, lingering, silent) for broker, ended in by_broker.items()}


def other_losses(
    faults: Iterable[OutageEvent], promises: Promises, lingering: int, brokers: Collection[str]
) -> Intervals:
    """The same time of all other lossy faults, which may cost what any broker stores."""
    found = outages(faults, brokers)
    others = [
        outage
        for outage in found
        if promises.loss(outage.kind) in LOSSY and not _ends_a_broker(outage, promises, brokers)
    ]
    return _recovered(others, lingering, _silent(found, promises, lingering))


def silent_intervals(
    faults: Iterable[OutageEvent], promises: Promises, lingering: int, brokers: Container[str] = ()
) -> Intervals:
    """The time in which a publication may wait in a queue without any record of it, because brokers are silenced."""
    return _silent(outages(faults, brokers), promises, lingering)


def cutting_outages(faults: Iterable[OutageEvent], brokers: Container[str]) -> list[Outage]:
    """The outages that let nothing pass a broker or a link."""
    return [outage for outage in outages(faults, brokers) if outage.kind in SILENCING]


def _ends_a_broker(outage: Outage, promises: Promises, brokers: Collection[str]) -> bool:
    return outage.target in brokers and promises.loss(outage.kind) is Loss.IN_FLIGHT


def _recovered(lossy: Iterable[Outage], lingering: int, silent: Intervals) -> Intervals:
    """The time until the overlay has recovered from these outages."""
    lost = (lasting(outage, lingering) for outage in lossy)
    return Intervals.of((begin, silent.settled(begin, end)) for begin, end in lost)


def _silent(found: Iterable[Outage], promises: Promises, lingering: int) -> Intervals:
    return Intervals.of(
        lasting(outage, lingering)
        for outage in found
        if outage.kind in SILENCING or promises.loss(outage.kind) is Loss.EVERYTHING
    )
