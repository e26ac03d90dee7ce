"""The power of a delivery verdict: the share of the owed notifications that the verdict rests on."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """The notifications that one variant owed, as pairs of a publication and a client, and what became of them.

    A pair is *owed* where a settled subscription of the client matches, and its publisher was certainly entitled to
    make the publication, whatever failed. Each owed pair is judged (the notification came, or is lost, or evidence that
    names it excuses it) or not judged, for a reason.
    """

    owed: int
    excused: Mapping[str, int]
    """Pairs excused by evidence, by kind of evidence, such as `in flight to B6`."""
    not_judged: Mapping[str, int]
    """Pairs that could not be judged, by reason."""
    implied: int
    """The pairs that overlay, plan of faults and promises let the faults cost at most. It follows from these alone,
    without looking at what was delivered."""

    @property
    def judged(self) -> int:
        """The number of owed pairs that were judged."""
        return self.owed - sum(self.not_judged.values())

    @property
    def share(self) -> float | None:
        """The judged share of the owed pairs; None where nothing was owed."""
        return self.judged / self.owed if self.owed else None
