"""Faults that cost only what clients of the failed broker publish or should get.

These are the costs `Loss.OWN_CLIENTS` and `Loss.UNACCEPTED`. Clients of other brokers get every publication, if late:
such a fault excuses no loss between them unless it leaves no path to the end of the run
(`analysis.judging.histories.cuts`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.judging.histories.history import OwnClients, Session
from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage, lasting, outages
from record.faults import FaultKind
from record.promises import Loss, Promises


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantOutages:
    """All outages of one variant, and the time of recovery from each, in nanoseconds."""

    faults: Sequence[OutageEvent]
    sessions: Mapping[Session, Sequence[Outage]]
    lingering: int
    served_by: Callable[[Outage], int]
    """The time by which the clients of a broker that failed have all that they declared again."""

    def own(self, outage: Outage) -> tuple[int, int]:
        """The time for which an outage of a broker concerns its own clients: until they are served again, or the
        overlay has recovered, whichever comes first."""
        begin, recovered = lasting(outage, self.lingering)
        return begin, min(recovered, self.served_by(outage))


def own_clients_of(promises: Promises, brokers: Container[str], happened: VariantOutages) -> OwnClients | None:
    """The faults of this kind in a variant; None where the promises name none."""
    if not promises.spares_others:
        return None
    lingering = happened.lingering
    found = outages(happened.faults, brokers)
    costs = {kind: [outage for outage in found if promises.loss(outage.kind) is kind] for kind in Loss}
    sparing = [*costs[Loss.OWN_CLIENTS], *costs[Loss.UNACCEPTED]]
    return OwnClients(
        lossy=_by_broker(costs[Loss.OWN_CLIENTS], happened.own),
        unaccepted=_by_broker(costs[Loss.UNACCEPTED], happened.own),
        unsettled=Intervals.of(
            lasting(outage, lingering + _sent_again(outage)) for outage in found if outage not in sparing
        ),
        brokers_down=_by_broker(sparing, lambda outage: lasting(outage, 0)),
        sessions_down={
            session: Intervals.of(lasting(outage, 0) for outage in down) for session, down in happened.sessions.items()
        },
    )


def _sent_again(outage: Outage) -> int:
    """Nanoseconds after its heal for which a frame may still wait that a fault has damaged.

    TCP waits twice as long after each damaged repetition. So the wait that is in progress at the heal ends no later
    after it than the fault lasted, and one time-out, which the time of recovery contains.
    """
    return outage.end - outage.begin if outage.kind == FaultKind.CORRUPT and outage.end < FOREVER else 0


def _by_broker(found: Iterable[Outage], lasts: Callable[[Outage], tuple[int, int]]) -> dict[str, Intervals]:
    times: dict[str, list[tuple[int, int]]] = {}
    for outage in found:
        times.setdefault(outage.target, []).append(lasts(outage))
    return {broker: Intervals.of(lasted) for broker, lasted in times.items()}
