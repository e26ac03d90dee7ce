"""Intervals by a block bootstrap: whole blocks of seconds are drawn with replacement, each with all its notifications.

Every comparison of delays draws here, so that a difference has one interval wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.run_files.blocks import FEWEST_BLOCKS
from analysis.tables.estimates import SampleEstimate

CONFIDENCE = 0.95
RESAMPLES = 2000


def draws(random: np.random.Generator, blocks: int, resamples: int) -> NDArray[np.int64]:
    """The number of times that each block is in each resample; a row a resample."""
    chosen = random.integers(blocks, size=(resamples, blocks))
    cells = chosen + blocks * np.arange(resamples)[:, np.newaxis]
    return np.bincount(cells.ravel(), minlength=resamples * blocks).reshape(resamples, blocks)


def estimated(value: float, resampled: NDArray[np.float64] | None, candidates: int = 1) -> SampleEstimate:
    """A value with the interval of its resamples, if there are any.

    The interval of the best of several candidates is wider, so that it holds for all of them together (Bonferroni).
    """
    if resampled is None:
        return SampleEstimate(float(value))
    beyond = (1 - CONFIDENCE) / candidates / 2
    low, high = np.nanquantile(resampled, [beyond, 1 - beyond])
    return SampleEstimate(float(value), (float(low), float(high)))


def paired_difference(sums: Sequence[tuple[float, float]], seed: int, candidates: int = 1) -> SampleEstimate | None:
    """The relative difference of the second of two means to the first, over pairs of notifications.

    `sums` are the sums of both delays of the pairs in each block, in the order of blocks. None where there is no delay
    to relate the difference to.
    """
    first, second = (sum(side) for side in zip(*sums, strict=True)) if sums else (0, 0)
    if not first:
        return None
    difference = second / first - 1
    if len(sums) < FEWEST_BLOCKS:
        return SampleEstimate(difference)
    totals = draws(np.random.default_rng(seed), len(sums), RESAMPLES) @ np.array(sums, dtype=float)
    return estimated(difference, totals[:, 1] / totals[:, 0] - 1, candidates)
