"""The recovery of the overlay between two clients, as the run shows it.

A notification proves that the overlay had recovered from an outage between a publisher and a subscriber, for one
advertisement and one subscription: its publication was made after the heal, its way passed the element that had failed,
and no other subscription of the client may have caused it. Whatever is published later has no excuse in that outage.

Where the client's own broker had failed, its clients' subscriptions come back one by one, and the broker matches for
its own clients again: one client's subscription may have drawn the publication to the broker, and another client was
notified there although no other broker had its subscription yet. So the notification is a proof only for publications
that are for all clients who were notified there: whichever subscription drew the first draws those, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from analysis.judging.evidence.ways import elements_of
from analysis.judging.histories.losses import LossyOutage
from analysis.judging.judged import JudgedPublication
from analysis.reading.intervals import FOREVER

Proof = tuple[str, int, int, LossyOutage]
"""Client, subscription, advertisement, outage."""
_MOST_SETS = 16
"""Sets of clients for which the earliest proof is kept; the latest proofs are forgotten."""
_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Recoveries:
    """The earliest proofs of recovery from one publisher."""

    proven: dict[Proof, dict[frozenset[str], int]] = field(default_factory=dict)
    """The time of publishing of the earliest publication that proves a recovery, by the clients for which another one
    must be, too."""

    @classmethod
    def of(cls, of_publisher: Iterable[JudgedPublication], losses: Sequence[LossyOutage]) -> Recoveries:
        """The recoveries that the publications of a publisher prove."""
        found = cls()
        for judged in of_publisher:
            healed = [outage for outage in losses if judged.published is not None and outage.end <= judged.published]
            if healed and judged.tree is not None and judged.published is not None:
                found._add(judged, judged.tree, judged.published, healed)
        return found

    def _add(self, judged: JudgedPublication, tree: int, published: int, healed: Sequence[LossyOutage]) -> None:
        for outcome in judged.outcomes:
            path = outcome.receipts[0].path if outcome.receipts else None
            if outcome.proves is None or path is None:
                continue
            passed = elements_of(path)
            for outage in healed:
                if outage.element in passed:
                    together = _notified_at(judged, outage.element) if outage.element == path[-1] else _NOBODY
                    self.prove((outcome.client, outcome.proves, tree, outage), published, together)

    def prove(self, proof: Proof, published: int, together: frozenset[str] = _NOBODY) -> None:
        """Adds a proof of recovery by a publication of this time, for publications that are for all of `together`."""
        times = self.proven.setdefault(proof, {})
        times[together] = min(published, times.get(together, FOREVER))
        if len(times) > _MOST_SETS:
            del times[max(times, key=times.__getitem__)]

    def recovered(
        self, judged: JudgedPublication, client: str, subscriptions: Sequence[int], lost: LossyOutage
    ) -> bool:
        """True when the overlay certainly had recovered before a publication that the client should have got."""
        if judged.tree is None or judged.published is None:
            return False
        meant = {outcome.client for outcome in judged.outcomes}
        keys = ((client, subscription, judged.tree, lost) for subscription in subscriptions)
        proofs = (proof for key in keys for proof in self.proven.get(key, {}).items())
        return any(published < judged.published and together <= meant for together, published in proofs)


def _notified_at(judged: JudgedPublication, broker: str) -> frozenset[str]:
    """The clients who were notified of a publication by this broker."""
    return frozenset(outcome.client for outcome in judged.outcomes if any(r.broker == broker for r in outcome.receipts))
