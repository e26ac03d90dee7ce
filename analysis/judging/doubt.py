"""Doubts: reasons why a client may be without what it is owed, wherever the publication was."""

from __future__ import annotations

from enum import StrEnum


class Doubt(StrEnum):
    """The reasons why a client may be without a publication that it is owed, whatever way the publication took: a fault
    that excuses that, or the end of a run that was interrupted, which leaves it not judged.

    Evidence of faults on the way is found afterwards (`analysis.judging.evidence`).
    """

    CUT_SHORT = "the run was interrupted while it was on its way"
    """The run ended while the publication may have been in flight, so the delivery is not judged."""
    OWN_BROKER = "published at {origin}, which failed before it had accepted it"
    SESSION = "published while the session with {origin} was down or settling"
    SUBSCRIBER = "for clients of {broker} while {broker}, their session or every way there was down or settling"
    """A session settles from its return until what its clients have declared again has spread."""

    def in_words(self, origin: str | None, broker: str | None) -> str:
        """The reason, with the names of the publisher's and the subscriber's broker."""
        return self.value.format(origin=origin or "an unknown broker", broker=broker or "an unknown broker")
