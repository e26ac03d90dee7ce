"""Paired comparison of two variants: the same seed gives the same workload, so their notifications pair up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from record.time_units import MILLISECOND

BLOCK_SECONDS = 5
"""Delays of neighbouring publications depend on each other through queues, so whole blocks of this length are
resampled."""
FEWEST_BLOCKS = 5
"""With fewer blocks no interval is given."""
RESAMPLES = 2000
CONFIDENCE = 0.95


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Mean delay of `variant` against `reference`, over pairs of the same publication and client."""

    reference: str
    variant: str
    pairs: int
    """Notifications of the same publication to the same client that both variants delivered."""
    reference_mean_ms: float | None
    variant_mean_ms: float | None
    relative_difference: float | None
    """variant mean / reference mean - 1: -0.2 is a fifth less delay. Null without pairs."""
    interval: tuple[float, float] | None
    """95% interval of the relative difference, by a block bootstrap over blocks of five seconds; null below five."""


class DelayBlock(NamedTuple):
    """Pairs whose publication was intended within the same five seconds of the reference's run: sums of delays, ns."""

    pairs: int = 0
    reference: int = 0
    variant: int = 0

    def __add__(self, other: object) -> DelayBlock:
        if not isinstance(other, DelayBlock):
            return NotImplemented
        return DelayBlock(self.pairs + other.pairs, self.reference + other.reference, self.variant + other.variant)


def compare(reference: str, variant: str, blocks: Mapping[int | None, DelayBlock], seed: int) -> Comparison:
    """The comparison of two variants from their blocks, by number; `seed` fixes the resampling."""
    ordered = [blocks[number] for number in sorted(blocks, key=lambda number: -1 if number is None else number)]
    total = sum(ordered, DelayBlock())
    comparable = total.pairs > 0 and total.reference > 0
    return Comparison(
        reference=reference,
        variant=variant,
        pairs=total.pairs,
        reference_mean_ms=total.reference / total.pairs / MILLISECOND if total.pairs else None,
        variant_mean_ms=total.variant / total.pairs / MILLISECOND if total.pairs else None,
        relative_difference=total.variant / total.reference - 1 if comparable else None,
        interval=_interval(np.array([block[1:] for block in ordered], dtype=float), seed)
        if comparable and len(ordered) >= FEWEST_BLOCKS
        else None,
    )


def _interval(sums: np.ndarray, seed: int) -> tuple[float, float]:
    random = np.random.default_rng(seed)
    chosen = random.integers(len(sums), size=(RESAMPLES, len(sums)))
    resampled = sums[chosen].sum(axis=1)
    differences = resampled[:, 1] / resampled[:, 0] - 1
    low, high = np.quantile(differences, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
