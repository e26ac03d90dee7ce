"""The recovery of the overlay between two clients, as the run shows it.

A notification proves that the overlay had recovered from an outage between a publisher and a subscriber, for one
advertisement and one subscription: its publication was made after the heal, its way passed the element that had failed,
and no other subscription of the client may have caused it. Whatever is published later has no excuse in that outage.
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


@dataclass(frozen=True, slots=True)
class Recoveries:
    """The earliest proofs of recovery from one publisher."""

    proven: dict[Proof, int] = field(default_factory=dict)
    """The time of publishing of the earliest publication that proves a recovery."""

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
                    self.prove((outcome.client, outcome.proves, tree, outage), published)

    def prove(self, proof: Proof, published: int) -> None:
        """Adds a proof of recovery by a publication of this time."""
        self.proven[proof] = min(published, self.proven.get(proof, FOREVER))

    def recovered(
        self, judged: JudgedPublication, client: str, subscriptions: Sequence[int], lost: LossyOutage
    ) -> bool:
        """True when the overlay certainly had recovered before a publication that the client should have got."""
        if judged.tree is None or judged.published is None:
            return False
        keys = ((client, subscription, judged.tree, lost) for subscription in subscriptions)
        return any(self.proven.get(key, FOREVER) < judged.published for key in keys)
