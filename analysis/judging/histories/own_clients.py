"""Faults that cost only what clients of the failed broker publish or should get.

These are the costs `Loss.OWN_CLIENTS` and `Loss.UNACCEPTED`. Clients of other brokers get every publication, if late:
such a fault excuses no loss between them unless it leaves no path to the end of the run
(`analysis.judging.histories.cuts`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.judging.histories.history import OwnClients, Session
from analysis.reading.intervals import Intervals
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage, lasting, outages
from record.promises import Loss, Promises


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantOutages:
    """All outages of one variant, and the time of recovery from each, in nanoseconds."""

    faults: Sequence[OutageEvent]
    sessions: Mapping[Session, Sequence[Outage]]
    lingering: int


def own_clients_of(promises: Promises, brokers: Container[str], happened: VariantOutages) -> OwnClients | None:
    """The faults of this kind in a variant; None where the promises name none."""
    if not promises.spares_others:
        return None
    lingering = happened.lingering
    found = outages(happened.faults, brokers)
    costs = {kind: [outage for outage in found if promises.loss(outage.kind) is kind] for kind in Loss}
    sparing = [*costs[Loss.OWN_CLIENTS], *costs[Loss.UNACCEPTED]]
    return OwnClients(
        lossy=_by_broker(costs[Loss.OWN_CLIENTS], lingering),
        unaccepted=_by_broker(costs[Loss.UNACCEPTED], lingering),
        unsettled=Intervals.of(lasting(outage, lingering) for outage in found if outage not in sparing),
        brokers_down=_by_broker(sparing, 0),
        sessions_down={
            session: Intervals.of(lasting(outage, 0) for outage in down) for session, down in happened.sessions.items()
        },
    )


def _by_broker(found: Iterable[Outage], lingering: int) -> dict[str, Intervals]:
    times: dict[str, list[tuple[int, int]]] = {}
    for outage in found:
        times.setdefault(outage.target, []).append(lasting(outage, lingering))
    return {broker: Intervals.of(lasted) for broker, lasted in times.items()}
