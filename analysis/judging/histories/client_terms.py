"""The terms of a protocol for clients that are away, by which a run is judged beyond those of handovers.

1. An absence that costs its client nothing excuses nothing that the client did not get.
2. Where no handover or absence of a publisher costs more than what its broker had not acknowledged, whatever arrived
   at its broker is owed, whether or not the publisher's advertisement had settled there.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from analysis.reading.log_events import OutageEvent
from record.handover import MoveLoss, PublishingLoss
from record.manifest import VariantRecord


def costless_absences(faults: Iterable[OutageEvent], variant: VariantRecord) -> list[OutageEvent]:
    """The begins and ends of absences that cost clients nothing, among faults of clients."""
    if variant.absences is UNSET:
        return []
    costless = {absence for absence, cost in variant.absences.items() if cost.loses is MoveLoss.NOTHING}
    away: set[str] = set()
    found = []
    for event in faults:
        if event.begins and event.kind in costless:
            away.add(event.target)
        if event.target in away:
            found.append(event)
        if not event.begins:
            away.discard(event.target)
    return found


def owes_accepted(variant: VariantRecord) -> bool:
    """True where the terms of all handovers and absences spare what a publisher's broker has accepted."""
    moves = () if variant.moves is UNSET else variant.moves.costs.values()
    absences = () if variant.absences is UNSET else variant.absences.values()
    costs = {cost.publishing for cost in (*moves, *absences)}
    return costs == {PublishingLoss.UNACCEPTED}
