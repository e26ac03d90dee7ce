"""Loss during load, from the relay's counters: of the frames that entered each direction, as many were lost as asked.

Every frame is drawn for by itself, so that the number of lost ones is binomial. A direction is wrong when chance gives
a number so far off in at most `_CHANCE` of all runs, however many directions there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from emulation.fidelity import thresholds
from record.fidelity import Check
from record.wording import count_of

_CHANCE = 1e-3
_SHOWN = 5
FEWEST = 20
"""Frames below which a direction is not judged."""


@dataclass(frozen=True, slots=True)
class CarriedDirection:
    """Frames of one direction in the run phase."""

    source: str
    target: str
    asked: float
    """Share that is to be lost."""
    entered: int
    lost: int


def loss_during(directions: Sequence[CarriedDirection]) -> list[Check]:
    """The check; none where the relay carried no direction through a run phase without planned changes."""
    judged = [direction for direction in directions if direction.entered >= FEWEST]
    if not judged:
        return []
    wrong = [direction for direction in judged if _probability(direction) < _CHANCE / len(judged)]
    detail = f"{len(judged):,} of {count_of(len(directions), 'direction')} judged by the relay's counters"
    if wrong:
        detail = f"{', '.join(map(_in_words, wrong[:_SHOWN]))}: {thresholds.LOSS_DURING.meaning} ({detail})"
    threshold = thresholds.LOSS_DURING
    return [
        Check(
            name=threshold.name, value=len(wrong), unit=threshold.unit, limit=threshold.degraded,
            verdict=threshold.verdict(len(wrong)), detail=detail,
        )
    ]  # fmt: skip


def _in_words(direction: CarriedDirection) -> str:
    return (
        f"{direction.source} to {direction.target} lost {direction.lost:,} of {count_of(direction.entered, 'frame')} "
        f"instead of {direction.asked:.2%}"
    )


def _probability(direction: CarriedDirection) -> float:
    """The probability of a number of lost frames that is as far off or farther, at most: Hoeffding's bound by relative
    entropy, times two for the two sides."""
    share, asked = direction.lost / direction.entered, direction.asked
    if share == asked:
        return 1.0
    return min(1.0, 2 * math.exp(-direction.entered * (_entropy(share, asked) + _entropy(1 - share, 1 - asked))))


def _entropy(share: float, asked: float) -> float:
    if not share:
        return 0.0
    return math.inf if not asked else share * math.log(share / asked)
