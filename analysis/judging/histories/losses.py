"""Outages that may cost what passes them, by the promises of the routing.

1. A fault is lossy if the promises state its cost as what is in flight, or do not name it (`Loss.EVERYTHING`).
2. A lossy outage strikes one element of the overlay: a broker, or one direction of a link. It costs what is at that
   element, on its way there, or in need of its routing tables, and nothing else: whatever takes a way without it is
   owed in full.
3. It lasts from the fault to the heal, and on until the overlay has recovered: for as long as the manifest's `recovery`
   allows at most, and longer while another fault silences brokers, because what they must send again waits. For a pair
   of clients recovery ends earlier, once a publication has passed the element between them
   (`analysis.judging.evidence.recovery`). Clients of the failed broker have their subscriptions back when their
   sessions have come back and these operations have settled (`analysis.judging.histories.returning`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from analysis.judging.histories.fault_costs import LOSSY, silent_intervals
from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import outages, separate_targets
from record.promises import Promises


@dataclass(frozen=True, slots=True, order=True)
class LossyOutage:
    """One outage of one element. Times in nanoseconds."""

    begin: int
    kind: str
    """The kind of the fault."""
    element: str
    """A broker, or `A->B` for one direction of a link."""
    end: int
    """The heal; `FOREVER` for an outage that never ended."""
    recovered: int
    """The latest time by which the overlay has recovered."""
    served: int = FOREVER
    """The latest time by which the subscriptions of the element's own clients hold again, where it is a broker."""

    def towards(self, broker: str | None) -> LossyOutage:
        """The outage as it concerns notifications of a broker's clients: those of the broker that failed have their
        subscriptions back before the whole overlay has recovered."""
        if broker != self.element or self.served >= self.recovered:
            return self
        return replace(self, recovered=self.served)

    @property
    def ends(self) -> tuple[str, str] | None:
        """The brokers of a link's direction; None of a broker."""
        source, arrow, target = self.element.partition("->")
        return (source, target) if arrow else None

    @property
    def struck(self) -> tuple[str, ...]:
        """The elements that pass nothing meanwhile: of a link both directions, because its streams need both."""
        return (self.element,) if self.ends is None else (self.element, "->".join(reversed(self.ends)))


def losses_of(
    faults: Iterable[OutageEvent], promises: Promises, lingering: int, brokers: Container[str]
) -> list[LossyOutage]:
    """The lossy outages among the faults of one variant. `lingering` are the nanoseconds of recovery after a heal."""
    faults = list(faults)
    silent = silent_intervals(faults, promises, lingering, brokers)
    found: set[LossyOutage] = set()
    for outage in outages(faults, brokers):
        if promises.loss(outage.kind) in LOSSY:
            recovered = FOREVER if outage.end == FOREVER else silent.settled(outage.begin, outage.end + lingering)
            for element in separate_targets(outage.target, brokers):
                found.add(LossyOutage(outage.begin, outage.kind, element, outage.end, recovered))
    return sorted(found)
