"""Progress of a client session through its publications, over all its streams, so that a repeat is told from news.

1. A client may repeat only publications whose numbers lie among the `REPEATABLE` latest of its session, because it
   sends none whose number is farther ahead of the oldest unacknowledged one.
2. For each of these numbers it is known whether it was rejected. Reasons are kept for the latest `REASONS_KEPT` only,
   because they take a hundred times the memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

REPEATABLE = 1 << 18
"""Numbers, the latest of a session, among which a client's repeats are."""
REASONS_KEPT = 1_000
"""Rejected publications, the latest of a session, whose reasons are kept."""
REASON_FORGOTTEN = f"rejected before; reasons are kept for the latest {REASONS_KEPT:,} rejections of a session"
_ALL = (1 << REPEATABLE) - 1


class RecentNumbers:
    """A set of numbers, less those that lie `REPEATABLE` or more below the greatest: 32 KB at most."""

    def __init__(self) -> None:
        self._greatest = 0
        self._bits = 0
        """Bit `i` is set if the greatest number less `i` is in the set."""

    def add(self, number: int) -> None:
        ahead = number - self._greatest
        if ahead >= REPEATABLE:
            self._greatest, self._bits = number, 1
        elif ahead > 0:
            self._greatest, self._bits = number, (self._bits << ahead | 1) & _ALL
        elif -ahead < REPEATABLE:
            self._bits |= 1 << -ahead

    def __contains__(self, number: int) -> bool:
        behind = self._greatest - number
        return 0 <= behind < REPEATABLE and bool(self._bits >> behind & 1)


@dataclass(slots=True)
class Progress:
    """Handling of the publications of one session."""

    last: int = 0
    """Greatest number that was handled, with all before it."""
    notified: int = 0
    """Number of the latest notification that was sent to a client that wants them numbered."""
    _rejected: RecentNumbers = field(default_factory=RecentNumbers)
    _reasons: dict[int, str] = field(default_factory=dict)

    def reject(self, number: int, reason: str) -> None:
        """Notes that a publication was handled by rejecting it."""
        self.last = max(self.last, number)
        self._rejected.add(number)
        self._reasons[number] = reason
        if len(self._reasons) > REASONS_KEPT:
            del self._reasons[next(iter(self._reasons))]

    def rejection(self, number: int) -> str | None:
        """The reason why a publication was rejected, or `REASON_FORGOTTEN`; None if it was not rejected."""
        if number not in self._rejected:
            return None
        return self._reasons.get(number, REASON_FORGOTTEN)
