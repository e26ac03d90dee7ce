"""Two samples of delays: their statistics, their differences, and confidence intervals of both.

Where both runs delivered the same workload, the same blocks are drawn from both, so that variation
within the workload does not widen the interval of their difference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.compare.model import DelayComparison, DelayOrder, OrderVerdict, QuantileDistance, Statistic
from analysis.compare.resampling import draws, estimated, paired_difference
from analysis.compare.runs import Delays
from analysis.run_files.blocks import FEWEST_BLOCKS
from analysis.tables.estimates import SampleEstimate

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
    before, after = (sample.statistics() for sample in samples)
    return DelayComparison(
        notifications=(len(first), len(second)),
        statistics=[
            _statistic(name, before[index], after[index], None if resampled is None else resampled[:, :, index])
            for index, name in enumerate(STATISTICS)
        ],
        quantiles=quantile_distance(first.milliseconds, second.milliseconds),
    )


def _statistic(name: str, first: float, second: float, resampled: np.ndarray | None) -> Statistic:
    """A statistic of both samples; `resampled` has a row of its resamples for each of them."""
    of_first, of_second = (None, None) if resampled is None else resampled
    change = None if resampled is None else resampled[1] / resampled[0] - 1
    return Statistic(
        name=name,
        first=estimated(first, of_first),
        second=estimated(second, of_second),
        difference=estimated(second / first - 1, change),
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
    sums = _paired_sums(delays[by_delay[0]], delays[by_delay[1]])
    lead = paired_difference(sums, seed, candidates=len(by_delay) - 1) or SampleEstimate(0.0)
    sure = lead.interval is not None and lead.interval[0] > 0
    return DelayOrder(by_delay=by_delay, lead=lead, winner=by_delay[0] if sure else None)


def verdict(first: DelayOrder, second: DelayOrder) -> OrderVerdict:
    """Agreement of two runs on the fastest variant."""
    if first.winner is None and second.winner is None:
        return OrderVerdict.NO_DIFFERENCE
    if first.winner is None or second.winner is None:
        return OrderVerdict.IN_ONE_RUN
    return OrderVerdict.SAME_WINNER if first.winner == second.winner else OrderVerdict.DIFFERENT_WINNERS


def _paired_sums(fastest: Delays, following: Delays) -> list[tuple[float, float]]:
    """The sums of both delays in each block, over pairs of the same publication and client that both delivered."""
    other = dict(zip(following.pairs, following.milliseconds.tolist(), strict=True))
    sums: dict[int, tuple[float, float]] = {}
    for pair, delay, block in zip(fastest.pairs, fastest.milliseconds.tolist(), fastest.blocks.tolist(), strict=True):
        if pair in other:
            first, second = sums.get(block, (0.0, 0.0))
            sums[block] = (first + delay, second + other[pair])
    return [sums[block] for block in sorted(sums)]


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


def _resample_both(first: Delays, second: Delays, samples: list[_Sample], seed: int) -> np.ndarray | None:
    """The statistics of each resample of both samples, by sample, resample and statistic; None with too few blocks."""
    if min(len(sample.names) for sample in samples) < FEWEST_BLOCKS:
        return None
    random = np.random.default_rng(seed)
    affordable = _DRAWS_AFFORDED // max(1, len(first) + len(second))
    resamples = min(MOST_RESAMPLES, max(FEWEST_RESAMPLES, affordable))
    if _same_workload(first, second):
        names = [np.union1d(samples[0].names, samples[1].names)] * 2
        drawn = [draws(random, len(names[0]), resamples)] * 2
    else:
        names = [sample.names for sample in samples]
        drawn = [draws(random, len(known), resamples) for known in names]
    takers = [sample.resampler(known) for sample, known in zip(samples, names, strict=True)]
    return np.array([[*map(take, of_sample)] for take, of_sample in zip(takers, drawn, strict=True)])


def _same_workload(first: Delays, second: Delays) -> bool:
    common = len(set(first.pairs) & set(second.pairs))
    return common >= SAME_WORKLOAD * max(len(first), len(second))
