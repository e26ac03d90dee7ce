"""The results of a search, as `saturation.json` has them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

from studies.saturation.bisection import LoadOutcome
from studies.saturation.cell import SaturationResult

LINKS_ONLY = "links and messages only"
"""The title of results whose brokers' work is no measured quantity: simulated brokers are charged by the kind of a
message, the same for all protocols, and matching costs nothing."""


class SeedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One load with one seed."""

    seed: int
    outcome: LoadOutcome
    reasons: list[str]
    """The reasons why it does not hold, or was not judged."""
    mean_ms: float | None
    p95_ms: float | None
    queue: float
    """Messages in all output queues together, on average over the last third of the run phase."""
    messages: float
    """Messages between brokers for each publication."""

    @classmethod
    def of(cls, result: SaturationResult) -> SeedPoint:
        return cls(
            seed=result.seed,
            outcome=result.load_outcome,
            reasons=result.reasons or result.doubts,
            mean_ms=result.figures.mean_ms,
            p95_ms=result.figures.p95_ms,
            queue=result.queues.last,
            messages=result.messages / max(result.figures.published, 1),
        )


class LoadPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One load in all seeds."""

    load: float
    outcome: LoadOutcome
    held: int
    """The number of seeds in which it holds."""
    seeds: list[SeedPoint]

    def mean(self, figure: str) -> float | None:
        """The mean of a figure over the seeds that have one."""
        found = [value for seed in self.seeds if (value := getattr(seed, figure)) is not None]
        return fmean(found) if found else None

    @property
    def reason(self) -> str:
        """The first reason why it does not hold in a seed; empty where there is none."""
        return next((reason for seed in self.seeds for reason in seed.reasons), "")


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """The load that one variant carries."""

    variant: str
    highest: float | None
    """The highest load that holds below the least one that does not; null where the least of all does not hold."""
    least_failing: float | None
    """The least load that does not hold, or that was not judged; null where the most of all holds."""
    holding_beyond: list[float]
    """Loads that hold above one that does not; with any, the curve is not monotone."""
    points: list[LoadPoint]
    """In order of load."""

    @property
    def end(self) -> LoadPoint | None:
        """The least load that does not hold."""
        return next((point for point in self.points if point.load == self.least_failing), None)

    def highest_of(self, seed: int) -> float | None:
        """The highest load that holds with one seed, below the least one that does not with it."""
        highest = None
        for point in self.points:
            found = next(each for each in point.seeds if each.seed == seed)
            if found.outcome is not LoadOutcome.HOLDS:
                break
            highest = point.load
        return highest


class SaturationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """`saturation.json`."""

    format: int = 1
    name: str
    description: str
    raised: str
    """Dotted path of the field that was raised."""
    unit: str
    conditions: str
    """The conditions of holding, in words."""
    seeds: list[int]
    share: float
    runtime: str
    limited_to: str
    """The limits of a simulated result in words, such as "links and messages only"; empty for real brokers."""
    capacities: list[Capacity]


def best_first(capacities: Sequence[Capacity]) -> list[Capacity]:
    """The variants by what they carry."""
    return sorted(capacities, key=lambda capacity: -(capacity.highest or 0.0))
