"""The verdict on runs beside a baseline: worse or better only where the interval of the paired differences says so.

1. Runs are paired by their seeds, figure by figure. Each pair gives a relative difference; where a baseline's figure is
   zero, all pairs of that figure give the difference itself.
2. The interval is Student's over the pairs. It holds for all figures of all variants together (Bonferroni), so that of
   twenty comparisons of equal code nineteen find nothing.
3. Where the interval contains zero, nothing is claimed, and the number of further pairs is estimated with which the
   same mean and spread would tell.
4. A figure that this host made, in either run, gives no pair. A figure of the baseline without any pair is not judged.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from analysis.tables.limits import amount
from analysis.tables.student import student_t_at
from record.limits import LimitedFigure
from studies.baselines.model import Baseline, Figures

CONFIDENCE = 0.95
"""Confidence of all comparisons together."""
_MOST_PAIRS = 1000
"""Greatest number of further pairs that a comparison suggests."""


class Change(enum.StrEnum):
    """The verdict on a figure."""

    SAME = "the same"
    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "no difference shown"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureChange:
    """The comparison of one figure of one variant with the baseline, over pairs of runs of the same seed."""

    variant: str
    figure: LimitedFigure
    change: Change
    pairs: int
    before: float
    """The baseline's mean over the pairs."""
    now: float
    difference: float
    """The mean of the pairs' differences."""
    half: float | None = None
    """Half the width of the confidence interval of `difference`; None for fewer than two pairs."""
    relative: bool = True
    further: int | None = None
    """The number of further pairs that would decide an unclear comparison; None where it is unknown or more than
    `_MOST_PAIRS`."""

    def in_words(self) -> str:
        name = f"{self.variant}: {self.figure.in_words}"
        if self.change is Change.NOT_JUDGED:
            return f"{name}: not judged: no run of a seed of the baseline has this figure, or this host made it"
        seeds = "one seed" if self.pairs == 1 else f"{self.pairs} seeds"
        if self.change is Change.SAME:
            return f"{name}: the same in {seeds} ({amount(self.figure, self.now)})"
        before, now = (amount(self.figure, value) for value in (self.before, self.now))
        numbers = f"{now} instead of {before}, {self._difference(self.difference)} over {seeds}"
        if self.half is None:
            return f"{name}: {self.change}: {numbers}; two seeds at least make an interval"
        low, high = (self._difference(self.difference + side * self.half) for side in (-1, 1))
        return f"{name}: {self.change}: {numbers} (interval {low} to {high}){self._further_in_words()}"

    def _difference(self, value: float) -> str:
        return f"{100 * value:+.3g}%" if self.relative else f"{value:+.3g}"

    def _further_in_words(self) -> str:
        if self.change is not Change.UNCLEAR:
            return ""
        if self.further is None:
            return f"; not even {_MOST_PAIRS:,} seeds would tell"
        return f"; about {self.further:,} more {'seed' if self.further == 1 else 'seeds'} would tell"


def compared(baseline: Baseline, now: Mapping[str, Mapping[int, Figures]]) -> list[FigureChange]:
    """Each figure of the baseline beside those of other runs, which are by variant and seed."""
    kept = [
        (variant, LimitedFigure(name))
        for variant, by_seed in baseline.variants.items()
        for name in dict.fromkeys(name for figures in by_seed.values() for name in figures)
    ]
    confidence = 1 - (1 - CONFIDENCE) / max(len(kept), 1)
    return [
        _change(variant, figure, _pairs(baseline.variants[variant], now.get(variant, {}), figure), confidence)
        for variant, figure in kept
    ]


def _pairs(
    before: Mapping[int, Figures], now: Mapping[int, Figures], figure: LimitedFigure
) -> list[tuple[float, float]]:
    return [
        (before[seed][figure.value], now[seed][figure.value])
        for seed in sorted(before.keys() & now.keys())
        if figure.value in before[seed] and figure.value in now[seed]
    ]


def _change(
    variant: str, figure: LimitedFigure, pairs: Sequence[tuple[float, float]], confidence: float
) -> FigureChange:
    if not pairs:
        return FigureChange(
            variant=variant, figure=figure, change=Change.NOT_JUDGED, pairs=0, before=0.0, now=0.0, difference=0.0
        )
    relative = all(before > 0 for before, _ in pairs)
    differences = [now / before - 1 if relative else now - before for before, now in pairs]
    mean, spread = fmean(differences), stdev(differences) if len(pairs) > 1 else None
    half = None if spread is None else student_t_at(len(pairs) - 1, confidence) * spread / math.sqrt(len(pairs))
    change = _verdict(differences, mean, half)
    unclear = change is Change.UNCLEAR and spread is not None
    return FigureChange(
        variant=variant,
        figure=figure,
        change=change,
        pairs=len(pairs),
        before=fmean(before for before, _ in pairs),
        now=fmean(now for _, now in pairs),
        difference=mean,
        half=half,
        relative=relative,
        further=_further(mean, spread or 0.0, len(pairs), confidence) if unclear else None,
    )


def _verdict(differences: Sequence[float], mean: float, half: float | None) -> Change:
    if not any(differences):
        return Change.SAME
    if half is None or abs(mean) <= half:
        return Change.UNCLEAR
    return Change.WORSE if mean > 0 else Change.BETTER


def _further(mean: float, spread: float, pairs: int, confidence: float) -> int | None:
    """The further pairs with which the interval would leave out zero, if mean and spread stayed as they are."""
    for wanted in range(pairs + 1, _MOST_PAIRS + 1):
        if abs(mean) > student_t_at(wanted - 1, confidence) * spread / math.sqrt(wanted):
            return wanted - pairs
    return None
