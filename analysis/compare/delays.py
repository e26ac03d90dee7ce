"""Two samples of delays: their statistics, their differences, and confidence intervals of both.

Intervals come from a block bootstrap: blocks of five seconds are drawn with replacement, each with all its
notifications. Where both runs delivered the same workload, the same blocks are drawn from both, so that variation
within the workload does not widen the interval of their difference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.compare.model import (
    DelayComparison,
    DelayOrder,
    OrderVerdict,
    QuantileDistance,
    SampleEstimate,
    Statistic,
)
from analysis.compare.runs import Delays
from analysis.run_files.blocks import FEWEST_BLOCKS

CONFIDENCE = 0.95
MOST_RESAMPLES, FEWEST_RESAMPLES = 1000, 200
_DRAWS_AFFORDED = 100_000_000
"""Largest number of notifications drawn in all resamples together."""
SAME_WORKLOAD = 0.9
"""Smallest share of common notifications at which two runs count as having the same workload."""

QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
STATISTICS = ("mean", *QUANTILES)


def compare_delays(first: Delays, second: Delays, seed: int) -> DelayComparison | None:
    """Compares two samples. None when one of them is empty. `seed` fixes the resampling."""
    if not len(first) or not len(second):
        return None
    samples = [_Sample(delays) for delays in (first, second)]
    resampled = _resample_both(first, second, samples, seed)
    statistics = []
    for index, name in enumerate(STATISTICS):
        values = [sample.statistics()[index] for sample in samples]
        draws = None if resampled is None else [run[:, index] for run in resampled]
        statistics.append(
            Statistic(
                name=name,
                first=_estimate(values[0], None if draws is None else draws[0]),
                second=_estimate(values[1], None if draws is None else draws[1]),
                difference=_estimate(values[1] / values[0] - 1, None if draws is None else draws[1] / draws[0] - 1),
            )
        )
    return DelayComparison(
        notifications=(len(first), len(second)),
        statistics=statistics,
        quantiles=quantile_distance(first.milliseconds, second.milliseconds),
    )


def quantile_distance(first: np.ndarray, second: np.ndarray) -> QuantileDistance:
    """Distances between equal quantiles, from 1% to 99%."""
    shares = np.arange(1, 100) / 100
    distances = np.abs(np.quantile(second, shares) - np.quantile(first, shares))
    worst = int(distances.argmax())
    return QuantileDistance(mean=float(distances.mean()), greatest=float(distances[worst]), at=float(shares[worst]))


def order(delays: dict[str, Delays], seed: int) -> DelayOrder:
    """Order of one run's variants by mean delay. At least two must have delivered notifications."""
    by_delay = sorted(delays, key=lambda name: float(delays[name].milliseconds.mean()))
    lead = _lead(delays[by_delay[0]], delays[by_delay[1]], seed)
    sure = lead.interval is not None and lead.interval[0] > 0
    return DelayOrder(by_delay=by_delay, lead=lead, winner=by_delay[0] if sure else None)


def verdict(first: DelayOrder, second: DelayOrder) -> OrderVerdict:
    """Agreement of two runs on the fastest variant."""
    if first.winner is None and second.winner is None:
        return OrderVerdict.NO_DIFFERENCE
    if first.winner is None or second.winner is None:
        return OrderVerdict.IN_ONE_RUN
    return OrderVerdict.SAME_WINNER if first.winner == second.winner else OrderVerdict.DIFFERENT_WINNERS


def _lead(fastest: Delays, next_fastest: Delays, seed: int) -> SampleEstimate:
    """Relative difference of the means over pairs of the same publication and client that both delivered."""
    other = dict(zip(next_fastest.pairs, next_fastest.milliseconds, strict=True))
    sums: dict[int, tuple[float, float]] = {}
    for pair, delay, block in zip(fastest.pairs, fastest.milliseconds, fastest.blocks, strict=True):
        if pair in other:
            a, b = sums.get(int(block), (0.0, 0.0))
            sums[int(block)] = (a + delay, b + other[pair])
    if not sums:
        return SampleEstimate(0.0)
    blocks = np.array(list(sums.values()))
    total = blocks.sum(axis=0)
    value = float(total[1] / total[0] - 1)
    if len(blocks) < FEWEST_BLOCKS:
        return SampleEstimate(value)
    chosen = np.random.default_rng(seed).integers(len(blocks), size=(MOST_RESAMPLES, len(blocks)))
    drawn = blocks[chosen].sum(axis=1)
    return _estimate(value, drawn[:, 1] / drawn[:, 0] - 1)


class _Sample:
    """Delays in ascending order, ready to be resampled by weights of their blocks."""

    def __init__(self, delays: Delays) -> None:
        ascending = np.argsort(delays.milliseconds, kind="stable")
        self.values = delays.milliseconds[ascending]
        self._names = delays.blocks[ascending]
        self.names = np.unique(self._names)

    def statistics(self) -> list[float]:
        """The statistics of the sample itself, in the order of `STATISTICS`."""
        return [float(self.values.mean()), *(float(np.quantile(self.values, share)) for share in QUANTILES.values())]

    def resampler(self, names: np.ndarray) -> Callable[[np.ndarray], list[float]]:
        """Function from the number of draws of each block in `names` to the statistics of that resample."""
        positions = np.searchsorted(names, self._names)

        def take(times: np.ndarray) -> list[float]:
            weights = times[positions]
            reached = np.cumsum(weights)
            if not reached[-1]:
                return [np.nan] * len(STATISTICS)
            mean = float((weights * self.values).sum() / reached[-1])
            ranks = np.searchsorted(reached, [share * reached[-1] for share in QUANTILES.values()])
            return [mean, *(float(value) for value in self.values[np.minimum(ranks, len(self.values) - 1)])]

        return take


def _resample_both(first: Delays, second: Delays, samples: list[_Sample], seed: int) -> list[np.ndarray] | None:
    """Two arrays, one for each run, with a row of statistics for each resample; None with too few blocks."""
    if min(len(sample.names) for sample in samples) < FEWEST_BLOCKS:
        return None
    random = np.random.default_rng(seed)
    affordable = _DRAWS_AFFORDED // max(1, len(first) + len(second))
    resamples = min(MOST_RESAMPLES, max(FEWEST_RESAMPLES, affordable))
    together = np.union1d(samples[0].names, samples[1].names)
    paired = _same_workload(first, second)
    names = [together, together] if paired else [sample.names for sample in samples]
    takers = [sample.resampler(known) for sample, known in zip(samples, names, strict=True)]
    rows: tuple[list[list[float]], list[list[float]]] = ([], [])
    for _ in range(resamples):
        times = [random.multinomial(len(known), np.full(len(known), 1 / len(known))) for known in names]
        if paired:
            times[1] = times[0]
        for row, take, draws in zip(rows, takers, times, strict=True):
            row.append(take(draws))
    return [np.array(row) for row in rows]


def _same_workload(first: Delays, second: Delays) -> bool:
    common = len(set(first.pairs) & set(second.pairs))
    return common >= SAME_WORKLOAD * max(len(first), len(second))


def _estimate(value: float, draws: np.ndarray | None) -> SampleEstimate:
    if draws is None:
        return SampleEstimate(float(value))
    low, high = np.nanquantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return SampleEstimate(float(value), (float(low), float(high)))
