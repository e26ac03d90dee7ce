"""Probabilities that brokers want values, by which a workload of kind `integers` has its matching ratio.

The matching ratio r is the probability that an average publication matches a broker's subscriptions: the mean of
P(broker wants v) over brokers, and over values as they are published. MEDYM (TR-692-04, 2004), section 5.1.2, gives the
distributions:

1. Uniform: every broker wants every value with probability r.
2. Zipf and multimodal: a broker wants v with the probability 1 - (1 - p_v)^k that some of k draws from the
   distribution p takes it. The number k, which need not be whole, is the one that gives r.
3. Multimodal: p is a mixture of equal Gaussians. The paper sets their standard deviation to "1/4 of the distances
   between peaks"; here it is a quarter of the mean gap between sorted peaks.
4. Regional: broker i wants the values of broker j with probability c / distance(i, j)^decay, or 1 where that is more.
   The number c is the one that gives r. The distance is the round trip, and a broker's distance to itself is that to
   its nearest neighbour.

Each broker decides on each value independently. So the number of brokers that a publication matches is distributed as
if each broker had made k draws.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]

_NARROWEST = 0.01
"""Standard deviation of peaks that nearly coincide, in values: all of such a peak is one value."""
_STEPS = 200
"""Doublings, and bisections, that are tried at most; the precision of a double ends them sooner."""


def zipf(values: int, exponent: float) -> Weights:
    """The share of each rank, from 1, in draws from a Zipf distribution."""
    weights = np.arange(1, values + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def peaks(values: int, count: int, rng: np.random.Generator) -> Weights:
    """Random positions of Gaussian peaks, sorted."""
    return np.sort(rng.random(count) * values)


def deviation(positions: Weights) -> float:
    """The standard deviation of each peak: a quarter of the mean gap between neighbours."""
    return float(np.diff(positions).mean()) / 4


def mixture(values: int, positions: Weights) -> Weights:
    """The share of each value in draws from equal Gaussians at these positions, cut off at the ends of the values."""
    sigma = max(deviation(positions), _NARROWEST)
    weights = np.zeros(values)
    for position in positions:
        distances = np.abs(np.arange(values) + 0.5 - position)
        # The least of the distances is subtracted so that a very narrow peak has a value, too.
        weights += np.exp(-((distances / sigma) ** 2 - (distances.min() / sigma) ** 2) / 2)
    return np.asarray(weights / weights.sum())


def drawn(shares: Weights, popularity: Weights, ratio: float) -> Weights:
    """The probability that a broker wants each value, where brokers draw by `shares` and publishers by `popularity`.

    The mean over `popularity` is `ratio`, as near as the values with a share permit.
    """
    if ratio >= 1:
        return np.ones_like(shares)
    missed = np.log1p(-np.minimum(shares, 1 - 1e-15))
    number = _fitted(lambda draws: float(popularity @ -np.expm1(draws * missed)), ratio)
    return np.asarray(-np.expm1(number * missed))


def regional(distances: Weights, importance: Weights, decay: float, ratio: float) -> Weights:
    """The probability that each broker (row) wants the values of each publishing broker (column).

    `distances` are positive; `importance` is the share of each publishing broker in all publications. The mean, with
    columns weighted by `importance`, is `ratio`, as near as the distances that are not infinite permit.
    """
    affinity = distances**-decay
    factor = _fitted(lambda factor: float(np.minimum(factor * affinity, 1.0).mean(axis=0) @ importance), ratio)
    return np.minimum(factor * affinity, 1.0)


def _fitted(mean: Callable[[float], float], wanted: float) -> float:
    """The argument from 0 on at which an increasing function has a value, or the largest one tried."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        if mean(high) >= wanted:
            break
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if mean(middle) < wanted else (low, middle)
    return high
