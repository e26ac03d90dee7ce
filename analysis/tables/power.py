"""The power of a delivery verdict: the share of the owed notifications that the verdict rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from record.wording import count_of

ENOUGH = 0.5
"""The least judged share of the owed notifications with which a verdict may be `correct`."""
_KINDS_SHOWN = 3
"""Kinds of evidence, or reasons, that are named in one line."""


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """The notifications that one variant owed, as pairs of a publication and a client, and what became of them.

    A pair is *owed* where a settled subscription of the client matches, and its publisher was certainly entitled to
    make the publication, whatever failed. Each owed pair is judged (the notification came, or is lost, or evidence that
    names it excuses it) or not judged, for a reason.
    """

    owed: int
    excused: dict[str, int]
    """Pairs excused by evidence, by kind of evidence, such as `in flight to B6`."""
    not_judged: dict[str, int]
    """Pairs that could not be judged, by reason."""
    implied: int
    """The pairs that overlay, plan of faults and promises let the faults cost at most, by the ways that publications
    took, or were to take when they were lost."""

    @property
    def judged(self) -> int:
        """The number of owed pairs that were judged."""
        return self.owed - sum(self.not_judged.values())

    @property
    def share(self) -> float | None:
        """The judged share of the owed pairs; None where nothing was owed."""
        return self.judged / self.owed if self.owed else None

    @property
    def enough(self) -> bool:
        """True where something was owed, and at least half of it was judged."""
        return self.share is not None and self.share >= ENOUGH

    def in_words(self) -> str:
        """The power in one line."""
        if not self.owed:
            return "nothing was owed to any client, so nothing was judged"
        parts = [f"judged {percent(self.judged, self.owed)} of {count_of(self.owed, 'owed notification')}"]
        parts += [counted(self.not_judged, "not judged")] if any(self.not_judged.values()) else []
        parts += [counted(self.excused, "excused")] if any(self.excused.values()) else []
        if self.implied or any(self.excused.values()):
            parts.append(f"faults could cost at most {self.implied:,}")
        return "; ".join(parts)

    @classmethod
    def total(cls, powers: Iterable[Power]) -> Power:
        """The power of several variants together."""
        owed = implied = 0
        excused: Counter[str] = Counter()
        not_judged: Counter[str] = Counter()
        for power in powers:
            owed += power.owed
            implied += power.implied
            excused.update(power.excused)
            not_judged.update(power.not_judged)
        return cls(owed=owed, excused=ordered(excused), not_judged=ordered(not_judged), implied=implied)


def percent(part: int, whole: int) -> str:
    """A part of a whole, rounded down to whole percent; from 99% on to hundredths, so that only all of it is 100%."""
    if part == whole or 100 * part < 99 * whole:
        return f"{100 * part // whole}%"
    return f"{10_000 * part // whole / 100:.2f}%"


def ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts above zero, the largest first, equal ones by name."""
    return dict(sorted(((name, count) for name, count in counts.items() if count), key=lambda row: (-row[1], row[0])))


def counted(counts: Mapping[str, int], what: str) -> str:
    """`43 excused: in flight to B6`, with a count at each of several kinds."""
    kinds = ordered(counts)
    shown = list(kinds.items())[:_KINDS_SHOWN]
    named = [name if len(kinds) == 1 else f"{count:,} {name}" for name, count in shown]
    if more := sum(kinds.values()) - sum(count for _, count in shown):
        named.append(f"{more:,} for other reasons")
    return f"{sum(kinds.values()):,} {what}: {', '.join(named)}"
