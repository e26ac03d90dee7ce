"""The loads to try for one variant, one batch after another.

1. The ends come first. Where the least does not hold, or the most does, there is nothing to halve.
2. The gap between the highest load that holds and the least above it that does not is halved by ratio, because loads
   range over powers, until it is narrow enough.
3. Two loads beyond are tried then, because a load that fails by chance would hide that higher ones hold. Nothing
   follows from them but a name: a curve that is not monotone is called so.
4. A load that was not judged, on real brokers because of the host, ends the way up as one that does not hold, and is
   told apart from it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence

from scenario.sections.search import Loads

_BEYOND = (1.25, 1.6)
"""Factors of the highest load that holds, for the two loads beyond it."""


class LoadOutcome(enum.StrEnum):
    """The outcome of one load."""

    HOLDS = "holds"
    FAILS = "does not hold"
    NOT_JUDGED = "not judged"


class Bisection:
    """The search for the highest load of one variant that holds."""

    def __init__(self, loads: Loads, within: float) -> None:
        self._loads = loads
        self._within = within
        self._outcomes: dict[float, LoadOutcome] = {}
        self._beyond_tried = False

    @property
    def outcomes(self) -> Mapping[float, LoadOutcome]:
        """The outcomes of the loads that were tried, in their order."""
        return dict(sorted(self._outcomes.items()))

    def note(self, load: float, outcome: LoadOutcome) -> None:
        self._outcomes[load] = outcome

    def next_loads(self) -> Sequence[float]:
        """The loads to try now; none when the search is over. Every one must be noted before the next call."""
        ends = [self._loads.least, self._loads.most]
        if not self._outcomes:
            return ends
        low, high = self.highest, self.least_failing
        if high is None:
            return []
        middle = None if low is None else self._between(low, high)
        if middle is not None:
            return [middle]
        return self._beyond(self._loads.least if low is None else low)

    @property
    def highest(self) -> float | None:
        """The highest load that holds below the least one that does not; None where the least does not."""
        end = self.least_failing
        holding = [load for load, outcome in self._outcomes.items() if outcome is LoadOutcome.HOLDS]
        return max((load for load in holding if end is None or load < end), default=None)

    @property
    def least_failing(self) -> float | None:
        """The least load that does not hold or was not judged; None where all hold."""
        return min((load for load, outcome in self._outcomes.items() if outcome is not LoadOutcome.HOLDS), default=None)

    @property
    def holding_beyond(self) -> list[float]:
        """Loads that hold although a lower one does not: with any, the curve is not monotone."""
        end = self.least_failing
        return [
            load for load, outcome in self.outcomes.items() if outcome is LoadOutcome.HOLDS and load > (end or load)
        ]

    def _between(self, low: float, high: float) -> float | None:
        """The load to try between two; None where they are close enough, or there is none between."""
        middle = self._loads.rounded(math.sqrt(low * high))
        return middle if high > low * (1 + self._within) and low < middle < high else None

    def _beyond(self, reached: float) -> list[float]:
        if self._beyond_tried:
            return []
        self._beyond_tried = True
        wanted = (self._loads.rounded(reached * factor) for factor in _BEYOND)
        return [load for load in wanted if load <= self._loads.most and load not in self._outcomes]
