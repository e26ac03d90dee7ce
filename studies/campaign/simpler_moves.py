"""Simpler moves: once no fault of a failing schedule can be left out, each of its moves takes the simplest form with
which it still fails.

1. A hard handover without a word is simpler than any other, and no time away is simpler than some.
2. Half of a time away, or of an overlap, is simpler than the whole, and so is half of the time from the begin of the
   phase to the move. A move does not come to be before a fault that came before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scenario.faults import Moment
from scenario.sections.faults import FaultItem

_SHORTEST = 0.1
"""Seconds: no time is halved to less."""
_GRAIN = 3
"""Decimals of halved times."""


def simplified(faults: Sequence[FaultItem], fails: Callable[[Sequence[FaultItem]], bool]) -> tuple[FaultItem, ...]:
    """The schedule with its moves made as simple as it fails with. `fails` tells of a schedule, and has done so of the
    one that is given."""
    place = 0
    while place < len(faults):
        others = faults[:place], faults[place + 1 :]
        candidates = (
            (*others[0], simpler, *others[1]) for simpler in _simpler(faults[place], (*others[0], *others[1]))
        )
        found = next(filter(fails, candidates), None)
        if found is None:
            place += 1
        else:
            faults = found
    return tuple(faults)


def _simpler(fault: FaultItem, others: Sequence[FaultItem]) -> Iterator[FaultItem]:
    """Simpler forms of a move, the simplest first; none of any other fault."""
    if fault.move is None:
        return
    if fault.handover is not None:
        yield fault.model_copy(update={"handover": None, "overlap": None})
    if fault.away is not None:
        yield fault.model_copy(update={"away": None})
    for name in ("away", "overlap"):
        if (half := _half(getattr(fault, name))) is not None:
            yield fault.model_copy(update={name: half})
    if fault.at is not None and (half := _half(fault.at.seconds)) is not None:
        at = Moment(half, fault.at.phase)
        if not any(_between(other.at, at, fault.at) for other in others):
            yield fault.model_copy(update={"at": at})


def _between(other: Moment | None, earlier: Moment, later: Moment) -> bool:
    """True for a time that two others of one phase have between them, the later one included."""
    return other is not None and other.phase is later.phase and earlier.seconds < other.seconds <= later.seconds


def _half(seconds: float | None) -> float | None:
    """Half of a time; None where there is none, or it is too short for that."""
    return None if seconds is None or seconds / 2 < _SHORTEST else round(seconds / 2, _GRAIN)
